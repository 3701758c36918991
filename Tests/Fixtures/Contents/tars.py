"""Writes tars, cpios and files compressed with gzip into the current folder and expected.json: of what each must be found damaged; null: it
passes. Of a damaged one, programs see different files."""
import gzip, json


def header(name, kind, size, told=None):
    block = bytearray(512)
    block[:len(name)] = name.encode()
    block[100:108] = b"0000644\0"
    block[108:116] = block[116:124] = b"0000000\0"
    block[124:136] = told if told else b"%011o\0" % size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = b"ustar\00000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def gnu(name, holes=b"", kind=b"0", magic=b"ustar  \0"):
    """An entry of GNU's own format."""
    block = bytearray(header(name, kind, 5))
    block[257:265] = magic
    block[386:386 + len(holes)] = holes
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"file\n".ljust(512, b"\0")


def entry(name, kind=b"0", content=b"", told=None):
    return header(name, kind, len(content), told) + content + bytes(-len(content) % 512)


def record(key, value):
    length = len(key) + len(value) + 3
    while len(b"%d %s=%s\n" % (length, key, value)) != length:
        length += 1
    return b"%d %s=%s\n" % (length, key, value)


END = bytes(1024)
FIRST = entry("first.txt", content=b"first\n")
LAST = entry("last.txt", content=b"last\n")
HIDDEN = entry("hidden.txt", content=b"hidden\n")
COVER = header("cover.txt", b"0", len(HIDDEN))

CONTENT = "has content"
MODE = "marked as a folder, a link or a device"
KIND = "of a kind that programs read in different ways"

TARS = {
    "sound": (FIRST + LAST + END, None),
    "without-end": (FIRST + LAST, None),
    "lone-zeros": (FIRST + bytes(512), None),
    "folder": (FIRST + entry("folder/", b"5") + LAST + END, None),
    "link": (FIRST + entry("link", b"2") + LAST + END, None),
    "contiguous": (FIRST + entry("c", b"7", b"c") + END, None),
    "old-kind": (FIRST + entry("c", b"\0", b"c") + END, None),
    "long-name": (FIRST + entry("././@LongLink", b"L", b"n" * 120 + b"\0") + LAST + END, None),
    "large-number": (FIRST + entry("b", content=b"b", told=b"\x80" + bytes(10) + b"\1") + END, None),
    "record-of-size": (entry("x", b"x", record(b"size", b"6")) + FIRST + END, None),
    "records": (entry("x", b"x", record(b"comment", b"size=7") + record(b"path", b"p")) + FIRST + END, None),
    "global": (entry("g", b"g", record(b"comment", b"c")) + FIRST + END, None),
    "folder-with-cover": (FIRST + header("folder/", b"5", 512) + COVER + HIDDEN + LAST + END, CONTENT),
    "link-with-cover": (FIRST + header("link", b"2", 512) + COVER + HIDDEN + LAST + END, CONTENT),
    "fifo-with-cover": (FIRST + header("fifo", b"6", 512) + COVER + HIDDEN + LAST + END, CONTENT),
    "map-of-holes": (FIRST + gnu("hidden.txt", bytes(11) + b"7" + bytes(11) + b"0") + LAST + END, "a map of holes"),
    "gnu": (FIRST + gnu("file.txt") + LAST + END, None),
    "access-list": (FIRST + entry("hidden.txt", b"A", b"hidden\n") + LAST + END, KIND),
    "unknown": (FIRST + entry("hidden.txt", b"9", b"hidden\n") + LAST + END, KIND),
    "dump": (FIRST + entry("folder/", b"D", b"hidden\n") + LAST + END, KIND),
    "no-number": (FIRST + entry("a", content=b"a", told=b"00000000001x") + END, "no size"),
    "two-sizes": (
        entry("x", b"x", record(b"size", b"6") + record(b"size", b"7")) + FIRST + END, "contradict"),
}

MEMBERS = gzip.compress(b"first\n"), gzip.compress(b"hidden\n")
MARKED = MEMBERS[1][:3] + b"\x20" + MEMBERS[1][4:]
FILES = {
    "members.gz": (MEMBERS[0] + MEMBERS[1], None),
    "zeros.gz": (MEMBERS[0] + bytes(600), None),
    "other.gz": (MEMBERS[0] + b"signature", None),
    "behind-zeros.gz": (MEMBERS[0] + bytes(600) + MEMBERS[1], "more of it follows"),
    "marked.gz": (MEMBERS[0] + MARKED, "more of it follows"),
}


def cpio(mode, content=b"hidden"):
    def entry(name, mode, content=b""):
        fields = [1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name + b"\0"
        return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
    return entry(b"hidden.txt", mode, content) + entry(b"TRAILER!!!", 0)


FILES["old-and-unknown.tar"] = (gnu("hidden.txt", kind=b"V", magic=bytes(8)) + END, "not known")
FILES["file.cpio"] = (cpio(0o100644), None)
FILES["link.cpio"] = (cpio(0o120777), None)
FILES["no-name.cpio"] = (cpio(0o120777, b"-" * 5000), MODE)
FILES["folder.cpio"] = (cpio(0o040755), MODE)
FILES["device.cpio"] = (cpio(0o020644), MODE)

for name, (tar, fault) in TARS.items():
    FILES[name + ".tar"] = (tar, fault)
    FILES[name + ".tar.gz"] = (gzip.compress(tar), fault)
for name, (content, _) in FILES.items():
    open(name, "wb").write(content)
json.dump({name: fault for name, (_, fault) in FILES.items()}, open("expected.json", "w"))
