"""Writes hostile archives into the current folder, and expected.json: the code that each must be rejected with; null: it passes."""
import gzip, io, json, os, random, struct, tarfile, zipfile, zlib

expected = {}


def header(name, size=0, kind=b"0", prefix=b""):
    """A header of ustar; a size beyond its digits is written as GNU does, in base 256."""
    digits = b"%011o\0" % size if size < 8 ** 11 else b"\x80" + size.to_bytes(11, "big")
    head = bytearray(name[:100].ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + digits + b"00000000000\0"
                     + b" " * 8 + kind + bytes(100) + b"ustar\x0000" + bytes(80) + prefix[:155].ljust(155, b"\0") + bytes(12))
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def overlapping():
    """A thousand entries with the same data: the header of each has those behind it as its extra field (Fifield, A better zip bomb)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = bytes(1_000_000)
    packed = packer.compress(data) + packer.flush()
    facts = struct.pack("<III", zlib.crc32(data), len(packed), len(data))
    count, each = 1000, 30 + 4 + 4
    out, listing = b"", b""
    for index in range(count):
        name = b"%04d" % index
        behind = (count - 1 - index) * each
        out += (b"PK\3\4" + struct.pack("<HHHHH", 20, 0, 8, 0, 33) + facts + struct.pack("<HH", 4, 4 + behind) + name
                + struct.pack("<HH", 0xFFFE, behind))
        listing += (b"PK\1\2" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 33) + facts
                    + struct.pack("<HHHHHII", 4, 0, 0, 0, 0, 0, index * each) + name)
    out += packed
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(listing), len(out), 0)
    open("overlapping.zip", "wb").write(out + listing + b"PK\5\6" + end)
    expected["overlapping.zip"] = "ratio"


def many():
    """Ten million entries in a few megabytes: a block of deflate that ends at a whole byte is written many times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(header(b"x") * 2000) + packer.flush(zlib.Z_FULL_FLUSH)
    with open("many.tar.gz", "wb") as file:
        file.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
        for _ in range(5000):
            file.write(block)
    expected["many.tar.gz"] = "too-many-entries"


def claims():
    petabyte = 1 << 50
    open("claim.tar", "wb").write(header(b"x", petabyte - 1) + bytes(1024))
    expected["claim.tar"] = "too-large"
    # A file of holes alone, in the words of pax (GNU sparse format 1.0): unpacked, they are zeros.
    def record(key, value):
        body = b" %s=%s\n" % (key, value)
        size = len(body) + 1
        while size != len(str(size)) + len(body):
            size = len(str(size)) + len(body)
        return str(size).encode() + body
    records = (record(b"GNU.sparse.major", b"1") + record(b"GNU.sparse.minor", b"0")
               + record(b"GNU.sparse.name", b"x") + record(b"GNU.sparse.realsize", b"%d" % (petabyte - 1)))
    out = header(b"h", len(records), b"x") + records.ljust(512, b"\0")
    out += header(b"x", 512) + (b"1\n%d\n0\n" % (petabyte - 1)).ljust(512, b"\0") + bytes(1024)
    open("holes.tar", "wb").write(out)
    expected["holes.tar"] = "too-large"


def dense():
    open("dense.gz", "wb").write(gzip.compress(bytes(50_000_000)))
    expected["dense.gz"] = "ratio"
    with zipfile.ZipFile("dense.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(50_000_000))
    expected["dense.zip"] = "ratio"
    # In a tar that is compressed, what is skipped counts as well.
    with tarfile.open("skipped.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("folder")
        info.size = 50_000_000
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    expected["skipped.tar.gz"] = "ratio"


NAMES = [b"../" * 30 + b"etc/passwd", b"/etc/passwd", b"..", b".", b"a\nb\r\tc", b"a\0b", b"\xff\xfe\xfd", b"x" * 65_000,
         "invoice\u202efdp.exe".encode(), b"C:\\windows\\system32", b"-rf", b"'; rm -rf ~", b"\x1b[2J", b"a//b/./c/", b" ",
         "e\u0301".encode(), b"\xed\xa0\x80", b"CON", b"%2e%2e%2f", b"\xc0\xaf"]


def names():
    """500 names, each in a ZIP and in a tar: all but a folder's become contents."""
    source = random.Random(5)
    names = NAMES + [bytes(source.randrange(1, 256) for _ in range(source.randrange(1, 90))) for _ in range(480)]
    entries, out = [], b""
    for name in names:
        flags = source.choice([0, 0x800])
        facts = struct.pack("<IIIHH", zlib.crc32(b"x"), 1, 1, len(name), 0)
        entries.append(b"PK\1\2" + struct.pack("<HHHHHH", 20 | 3 << 8, 20, flags, 0, 0, 33) + facts
                       + struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, len(out)) + name)
        out += b"PK\3\4" + struct.pack("<HHHHH", 20, flags, 0, 0, 33) + facts + name + b"x"
    listing = b"".join(entries)
    out += listing + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(listing), len(out), 0)
    open("names.zip", "wb").write(out)
    # One of them is a folder's and has content.
    expected["names.zip"] = "damaged"
    out = b""
    for name in names:
        out += header(b"././@LongLink", len(name) + 1, b"L") + (name + b"\0").ljust(-(-(len(name) + 1) // 512) * 512, b"\0")
        # What ends with a slash is a folder to libarchive, and has no data.
        out += header(name) if name.endswith(b"/") else header(name, 1) + b"x".ljust(512, b"\0")
    open("names.tar", "wb").write(out + bytes(1024))
    expected["names.tar"] = None


def kinds():
    """A tar that begins with a kind that no program knows: GNU's tar writes a file."""
    open("kind.tar", "wb").write(header(b"x", 1, b"~") + b"x".ljust(512, b"\0") + bytes(1024))
    expected["kind.tar"] = "damaged"


overlapping()
many()
claims()
dense()
names()
kinds()
json.dump(expected, open("expected.json", "w"))
