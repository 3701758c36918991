"""Writes mails as Outlook packs them (TNEF: MS-OXTNEF, MS-OXRTFCP) into the current folder, and expected.json: what each must give."""
import hashlib, json, struct

expected = {}
PRESET = (b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans "
          b"SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx")


def content(name, data):
    return {"name": name, "sizeBytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def write(file, *attributes, children=(), derived=(), subject=None, behind=b""):
    stream = struct.pack("<IH", 0x223E9F78, 1) + b"".join(attributes) + behind
    open(file, "wb").write(stream)
    expected[file] = {"children": [content(*each) for each in children], "derived": [content(*each) for each in derived],
                      "subject": subject}
    return stream


def attribute(number, data):
    level = 2 if number & 0xFFFF in (0x9002, 0x8010, 0x800F, 0x9001, 0x9005) else 1
    return struct.pack("<BII", level, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def rend(): return attribute(0x00069002, bytes(14))
def title(data): return attribute(0x00018010, data + b"\0")
def data(data): return attribute(0x0006800F, data)
def padded(data): return data + bytes(-len(data) % 4)


def block(number, *values): return attribute(number, struct.pack("<I", len(values)) + b"".join(values))
def message(*values): return block(0x00069003, *values)
def file(*values): return block(0x00069005, *values)


def variable(kind, number, *values):
    return struct.pack("<HHI", kind, number, len(values)) + b"".join(struct.pack("<I", len(value)) + padded(value) for value in values)


def wide(number, text): return variable(0x1F, number, (text + "\0").encode("utf-16-le"))
def narrow(number, data): return variable(0x1E, number, data + b"\0")
def long(number, value): return struct.pack("<HHI", 3, number, value)


def compressed(text):
    """As a compressor might: a place and a length for whatever lies before, else the byte."""
    before, out, items = bytearray(PRESET), bytearray(), []
    at = 0
    while at < len(text):
        length, place = 0, 0
        for count in range(min(17, len(text) - at), 1, -1):
            place = bytes(before).rfind(text[at:at + count])
            if place >= 0 and len(before) - place < 4000:
                length = count
                break
        if length:
            items.append(struct.pack(">H", (place % 4096) << 4 | length - 2))
        else:
            length = 1
            items.append(text[at:at + 1])
        before += text[at:at + length]
        at += length
    items.append(struct.pack(">H", (len(before) % 4096) << 4))
    for start in range(0, len(items), 8):
        group = items[start:start + 8]
        out.append(sum(1 << bit for bit, item in enumerate(group) if len(item) == 2))
        out += b"".join(group)
    return struct.pack("<IIII", len(out) + 12, len(text), 0x75465A4C, 0) + bytes(out)


rtf = b"{\\rtf1\\ansi\\deff0 Hello Hello Hello \\par \\pard\\plain Times New Roman}" * 120
codepage = attribute(0x00069007, struct.pack("<II", 1252, 0))

write("one.tnef", codepage, message(wide(0x0037, "Grüße"), wide(0x1000, "Hallo, wörld\r\n")), rend(), title(b"A~1.PDF"), data(b"%PDF-1"),
      file(wide(0x3707, "Ä long näme.pdf"), narrow(0x370E, b"application/pdf")), children=[("Ä long näme.pdf", b"%PDF-1")],
      derived=[("body", "Hallo, wörld\r\n".encode())], subject="Grüße")
write("narrow.tnef", codepage, attribute(0x00018004, "Grüße".encode("cp1252") + b"\0"), attribute(0x0002800C, "wörld".encode("cp1252") + b"\0"),
      rend(), title("Ä.txt".encode("cp1252")), data(b"a"), children=[("Ä.txt", b"a")], derived=[("body", "wörld".encode())], subject="Grüße")
write("cyrillic.tnef", attribute(0x00069007, struct.pack("<II", 1251, 0)), rend(), title("да.txt".encode("cp1251")), data(b"a"),
      message(variable(0x102, 0x1013, "<p>привет</p>".encode("koi8-r")), long(0x3FDE, 20866)), children=[("да.txt", b"a")],
      derived=[("body-html", "<p>привет</p>".encode())])
# Longer than the bounds of other readers.
write("large.tnef", message(wide(0x1000, "grün " * 100_000)), rend(), file(wide(0x3707, "big.bin"), variable(0x102, 0x3701, bytes(3_000_001))),
      children=[("big.bin", bytes(3_000_001))], derived=[("body", ("grün " * 100_000).encode())])
write("rtf.tnef", message(variable(0x102, 0x1009, compressed(rtf))), children=[("body.rtf", rtf)])
write("plain-rtf.tnef", message(variable(0x102, 0x1009, struct.pack("<IIII", 12 + 5, 5, 0x414C454D, 0) + b"{\\rtf}")),
      children=[("body.rtf", b"{\\rtf}")])
# The sizes before a compressed text hide nothing of it.
lying = compressed(rtf)
write("lying-rtf.tnef", message(variable(0x102, 0x1009, struct.pack("<II", 0, 4) + lying[8:])), children=[("body.rtf", rtf)])
# What is written twice, and differs, some programs show.
write("two-texts.tnef", codepage, attribute(0x0002800C, b"one\0"), message(wide(0x1000, "two"), narrow(0x1013, b"<p>"), narrow(0x1013, b"<b>"),
      variable(0x102, 0x1009, lying), variable(0x102, 0x1009, compressed(b"{\\rtf1}"))),
      children=[("body.txt", b"one"), ("body.html", b"<b>"), ("body.rtf", rtf), ("body.rtf", b"{\\rtf1}")], derived=[("body", b"two"), ("body-html", b"<p>")])
write("same-texts.tnef", codepage, attribute(0x0002800C, b"one\0"), message(wide(0x1000, "one")), derived=[("body", b"one")])
inner = write("inner.tnef", message(wide(0x0037, "inner")), rend(), title(b"deep.txt"), data(b"deep"), children=[("deep.txt", b"deep")], subject="inner")
write("nested.tnef", rend(), file(long(0x3705, 5), wide(0x3001, "inner"), variable(0x0D, 0x3701, bytes(16) + inner)), children=[("inner.tnef", inner)])
# Programs that write files see the name end there.
write("cut-name.tnef", rend(), title(b"a.txt\0.bin"), data(b"a"), children=[("a.txt", b"a")])
write("no-interface.tnef", rend(), file(variable(0x0D, 0x3701, inner), narrow(0x3707, b"a")), children=[("a", inner)])
write("interface.tnef", rend(), file(variable(0x102, 0x3701, bytes(16) + inner), narrow(0x3707, b"a")), children=[("a", inner)])
write("empty.tnef", rend(), title(b"AUTOEXEC.BAT"), data(b""), rend(), title(b"b"), data(b"b"), children=[("AUTOEXEC.BAT", b""), ("b", b"b")])
write("twice.tnef", rend(), title(b"a"), data(b"same"), file(variable(0x102, 0x3701, b"same")), rend(), title(b"b"), data(b"one"),
      file(variable(0x102, 0x3701, b"other")), children=[("a", b"same"), ("b", b"one"), ("b", b"other")])
write("data-first.tnef", rend(), data(b"a"), title(b"a.txt"), rend(), data(b"b"), title(b"b.txt"), children=[("a.txt", b"a"), ("b.txt", b"b")])
write("no-rend.tnef", title(b"a.txt"), data(b"a"), children=[("a.txt", b"a")])
write("behind.tnef", rend(), title(b"a"), data(b"a"), behind=b"\0" * 20 + b"\r\n", children=[("a", b"a")])
# Named, multiple and small values lie before those that matter.
named = struct.pack("<HH", 0x1F, 0x8001) + bytes(16) + struct.pack("<II", 1, 6) + padded("abc".encode("utf-16-le"))
named += struct.pack("<II", 1, 4) + "ab".encode("utf-16-le")
numbered = struct.pack("<HH", 3, 0x8002) + bytes(16) + struct.pack("<III", 0, 7, 8)
multiple = variable(0x101F, 0x0E05, "a\0".encode("utf-16-le"), "bcd\0".encode("utf-16-le"))
write("values.tnef", message(named, numbered, multiple, struct.pack("<HHHH", 2, 2, 7, 0), struct.pack("<HHQ", 0x40, 0x39, 5), wide(0x0037, "after")),
      subject="after")
write("unpaired.tnef", message(variable(0x1F, 0x0037, b"a\0\x00\xd8b\0\0")), subject="a\ufffdb")
# Programs go by the lower half of the id, and by no level.
write("odd-id.tnef", rend(), title(b"a"), attribute(0x00FF800F, b"a"), children=[("a", b"a")])
write("odd-level.tnef", rend(), b"\7" + title(b"a")[1:], b"\0" + data(b"a")[1:], children=[("a", b"a")])
write("checksum.tnef", rend(), title(b"a"), data(b"a")[:-2] + b"\0\0", children=[("a", b"a")])
json.dump(expected, open("expected.json", "w"))
