"""Writes images of disks, and a RAR, 7z or tar behind other bytes, into the current folder and expected.json: of what each must be found
damaged; null: it passes. Of a damaged one, programs see different files."""
import json, os, struct, subprocess, zlib

SECTOR = 2048


def both(number):
    return struct.pack("<I", number) + struct.pack(">I", number)


def record(name, block, size, flags=0):
    body = b"\0" + both(block) + both(size) + bytes(7) + bytes([flags, 0, 0]) + b"\1\0\0\1" + bytes([len(name)]) + name
    body += bytes(1 - len(body) % 2)
    return bytes([len(body) + 1]) + body


def folder(block, files):
    own = record(b"\0", block, SECTOR, 2) + record(b"\1", block, SECTOR, 2)
    return (own + b"".join(record(*file) for file in files)).ljust(SECTOR, b"\0")


def volume(kind, root, escape=b""):
    sector = bytearray(SECTOR)
    sector[0:7] = bytes([kind]) + b"CD001\1"
    sector[8:72] = b" " * 64
    sector[80:88] = both(40)
    sector[88:88 + len(escape)] = escape
    sector[120:132] = b"\1\0\0\1\1\0\0\1\0\x08\x08\0"
    sector[132:140] = both(10)
    sector[140:144], sector[148:152] = struct.pack("<I", 20), struct.pack(">I", 20)
    sector[156:190] = record(b"\0", root, SECTOR, 2)
    sector[190:813] = b" " * 623
    sector[813:881] = (b"0" * 16 + b"\0") * 4
    sector[881] = 1
    return bytes(sector)


def image(plain, joliet=None, udf=False):
    """Files by name, block and size; those of the second tree, where there is one."""
    sectors = {16: volume(1, 22), 22: folder(22, plain), 20: b"\1\0" + struct.pack("<I", 22) + b"\1\0\0\0"}
    next = 17
    if joliet is not None:
        sectors[next] = volume(2, 24, b"%/E")
        sectors[24] = folder(24, joliet)
        next += 1
    sectors[next] = b"\xffCD001\1"
    if udf:
        sectors[next + 1] = b"\0BEA01\1"
        sectors[next + 2] = b"\0NSR02\1"
    sectors[30], sectors[31] = b"first\n", b"second\n"
    return b"".join(sectors.get(number, b"").ljust(SECTOR, b"\0") for number in range(40))


ONE = (b"A.TXT;1", 30, 6)
TWO = (b"B.TXT;1", 31, 7)
WIDE_ONE = ("a.txt".encode("utf-16-be"), 30, 6)
WIDE_TWO = ("b.txt".encode("utf-16-be"), 31, 7)


def rar(attributes=0x20, cut=0):
    """RAR 2.9: a file that is not compressed."""
    def header(kind, flags, rest):
        body = struct.pack("<BHH", kind, flags, 7 + len(rest)) + rest
        return struct.pack("<H", zlib.crc32(body) & 0xFFFF) + body
    data, name = b"first\n", b"a.txt"
    rest = struct.pack("<IIBIIBBHI", len(data), len(data), 2, zlib.crc32(data), 0, 20, 0x30, len(name), attributes) + name
    whole = b"Rar!\x1a\x07\0" + header(0x73, 0, bytes(6)) + header(0x74, 0x8000, rest) + data
    return whole[:len(whole) - cut] if cut else whole + header(0x7B, 0x4000, b"")


def rar5(cut=0, unknown=False, mode=0o100644, length=6):
    def header(fields):
        body = bytes([len(fields)]) + fields
        return struct.pack("<I", zlib.crc32(body)) + body
    def number(value):
        return bytes([value | 0x80 if value > 0x7F else value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + number(value >> 7)
    data = b"first\n".ljust(length, b"-")
    file = (b"\2\2" + number(len(data)) + b"\4" + number(len(data)) + number(mode) + struct.pack("<I", zlib.crc32(data))
            + b"\0\1\5a.txt")
    whole = b"Rar!\x1a\x07\1\0" + header(b"\1\0\0") + (header(b"\x09\4") if unknown else b"") + header(file) + data
    return whole[:len(whole) - cut] if cut else whole + header(b"\5\0\0")


def tar():
    """One entry, with its blocks."""
    block = bytearray(512)
    block[:5], block[100:108], block[108:124] = b"a.txt", b"0000644\0", b"0000000\0" * 2
    block[124:136], block[136:148], block[156:157], block[257:265] = b"%011o\0" % 6, b"0" * 11 + b"\0", b"0", b"ustar\00000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"first\n".ljust(512, b"\0") + bytes(1024)


def ar(mode, length):
    return b"!<arch>\n" + b"%-16s%-12d%-6d%-6d%-8o%-10d`\n" % (b"a.txt/", 0, 0, 0, mode, length) + b"-" * length


def seven():
    with open("first.txt", "w") as file:
        file.write("first\n" * 100)
    subprocess.run(["bsdtar", "--format=7zip", "-cf", "first.7z", "first.txt"], check=True)
    with open("first.7z", "rb") as file:
        return file.read()


def link(target):
    os.symlink(target, "link")
    subprocess.run(["bsdtar", "--format=7zip", "-cf", "link.7z", "link"], check=True)
    os.remove("link")
    with open("link.7z", "rb") as file:
        return file.read()


FRONT = b"GIF89a" + bytes(3000)
SEVEN = seven()
FAR = bytes((1 << 20) - 3)
TREES, FOLDER, CUT = "its trees do not have the same files", "marked as a folder", "cannot be unpacked"

CONTENTS = {
    "one-tree.iso": (image([ONE, TWO]), None),
    "two-trees.iso": (image([ONE, TWO], [WIDE_TWO, WIDE_ONE]), None),
    "hidden-in-the-second.iso": (image([ONE], [WIDE_ONE, WIDE_TWO]), TREES),
    "hidden-in-the-first.iso": (image([ONE, TWO], [WIDE_ONE]), TREES),
    "other-bytes.iso": (image([ONE], [("a.txt".encode("utf-16-be"), 31, 6)]), TREES),
    "udf.iso": (image([ONE], udf=True), "in UDF"),
    "whole.rar": (rar(), None),
    "folder.rar": (rar(attributes=0x10), FOLDER),
    "behind-a-picture.rar": (FRONT + rar(attributes=0x10), FOLDER),
    "behind-a-picture-5.rar": (FRONT + rar5(), None),
    "cut-behind-a-picture-5.rar": (FRONT + rar5(cut=3), CUT),
    "far-behind.rar": (FAR + rar(attributes=0x10), FOLDER),
    "behind-a-picture.7z": (FRONT + SEVEN, None),
    "cut-behind-a-picture.7z": (FRONT + SEVEN[:-5], CUT),
    "far-behind.7z": (FAR + SEVEN[:-5], CUT),
    "junk-before.tar": (b"x" * 512 + tar(), None),
    "far-behind.tar": (b"x" * (3 << 19) + tar()[:900], CUT),
    "unknown-block.rar": (rar5(unknown=True), "of a kind that is not known"),
    "a-link.7z": (link("first.txt"), None),
    "a-link-that-is-no-name.7z": (link("first\n" * 100), FOLDER),
    "a-link.ar": (ar(0o120777, 100), FOLDER),
    "a-link-5.rar": (rar5(mode=0o120777), FOLDER),
    # What only begins like one is none.
    "no-sum.7z": (FRONT + SEVEN[:8] + bytes(4) + SEVEN[12:-5], None),
    "no-sum.rar": (FRONT + rar(attributes=0x10).replace(b"\x73\0\0", b"\x73\0\1", 1), None),
}

for name, (content, _) in CONTENTS.items():
    with open(name, "wb") as file:
        file.write(content)
with open("expected.json", "w") as file:
    json.dump({name: fault for name, (_, fault) in CONTENTS.items()}, file)
