"""Writes archives into the current folder, or reads the ZIPs that are named, and writes expected.json: which contents each must give,
by Python's own readers."""
import bz2, gzip, hashlib, io, json, lzma, os, struct, subprocess, sys, tarfile, zipfile, zlib

expected = {}


def content(name, data):
    return {"name": name, "sizeBytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


FILES = [
    ("readme.txt", b"hello\n" * 50),
    ("folder/picture.bin", bytes((i * 7919 >> 3) & 255 for i in range(300_000))),
    ("folder/gr\u00fc\u00dfe \u2603.txt", "Gr\u00fc\u00dfe\n".encode()),
    ("empty", b""),
    ("long/" + "n" * 180 + ".txt", b"long"),
]


def unzipped(file):
    with zipfile.ZipFile(file) as archive:
        return [content(i.filename, archive.read(i)) for i in archive.infolist() if not i.is_dir()]


def untarred(file):
    with tarfile.open(file) as archive:
        return [content(i.name, archive.extractfile(i).read()) for i in archive if i.isreg()]


class Stream(io.RawIOBase):
    """What cannot seek: zipfile writes sizes behind the data then."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def zips():
    for name, method in [("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED),
                         ("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)]:
        with zipfile.ZipFile(name + ".zip", "w", method) as archive:
            archive.writestr("folder/", "")
            # libarchive 3.6 stops at a few bytes of LZMA in a ZIP.
            for path, data in FILES[:3] if name == "lzma" else FILES:
                archive.writestr(path, data)
        expected[name + ".zip"] = unzipped(name + ".zip")
    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in FILES:
            archive.writestr(path, data)
    open("streamed.zip", "wb").write(stream.data)
    expected["streamed.zip"] = unzipped("streamed.zip")
    with zipfile.ZipFile("nested.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write("deflated.zip")
    # Not what the inner one holds: that is for its own way through the pipeline.
    expected["nested.zip"] = unzipped("nested.zip")


def hidden():
    """ZIPs whose end libarchive does not see: others find it up to 64 KB before the end, behind whatever lies before it."""
    def zipped(name, data, comment=b""):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(name, data)
            archive.comment = comment
        return out.getvalue()

    def write(file, data, *files):
        open(file, "wb").write(data)
        expected[file] = [content(name, inner) for name, inner in files]

    far, near = zipped("far.txt", b"far", bytes(17_000)), zipped("near.txt", b"near")
    write("far.zip", far, ("far.txt", b"far"))
    write("far-sfx.zip", b"MZ" + bytes(100) + far, ("far.txt", b"far"))
    write("far-junk.zip", b"MZ" + near + bytes(60_000), ("near.txt", b"near"))
    write("text-far.txt", b"hello\n" * 100 + far, ("far.txt", b"far"))
    write("behind.gz", gzip.compress(b"hello") + near, ("behind", b"hello"), ("near.txt", b"near"))
    write("behind.bz2", bz2.compress(b"hello") + near, ("behind", b"hello"), ("near.txt", b"near"))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"hello"))
    write("behind.tar", out.getvalue() + near, ("a.txt", b"hello"), ("near.txt", b"near"))
    # The last file of a tar is one, and comes out once.
    for name, last in [("last.tar", near), ("last-far.tar", far)]:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            info = tarfile.TarInfo("inner.zip")
            info.size = len(last)
            archive.addfile(info, io.BytesIO(last))
        write(name, out.getvalue(), ("inner.zip", last))


def tars():
    formats = [("pax", tarfile.PAX_FORMAT, FILES), ("gnu", tarfile.GNU_FORMAT, FILES),
               ("ustar", tarfile.USTAR_FORMAT, FILES[:4])]
    for name, form, files in formats:
        for mode in ["", "gz", "bz2", "xz"]:
            file = f"{name}.tar" + (mode and "." + mode)
            with tarfile.open(file, "w:" + mode, format=form) as archive:
                for path, data in files:
                    info = tarfile.TarInfo(path)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
                for kind in [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]:
                    info = tarfile.TarInfo("special" + kind.decode())
                    info.type = kind
                    if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                        info.linkname = "readme.txt"
                    archive.addfile(info)
            expected[file] = untarred(file)
    # With holes in the middle and at the end: GNU's sparse format 1.0, which Python reads.
    with tarfile.open("sparse.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        data = (b"2\n1000\n512\n500000\n512\n").ljust(512, b"\0") + b"a" * 512 + b"b" * 512
        info = tarfile.TarInfo("sparse")
        info.size = len(data)
        info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "sparse",
                            "GNU.sparse.realsize": "900000"}
        archive.addfile(info, io.BytesIO(data))
    expected["sparse.tar"] = untarred("sparse.tar")
    assert expected["sparse.tar"][0]["sizeBytes"] == 900_000
    for program, suffix in [("zstd", "zst"), ("lz4", "lz4")]:
        subprocess.run([program, "-q", "pax.tar", "pax.tar." + suffix], check=True)
        expected["pax.tar." + suffix] = expected["pax.tar"]


def singles():
    data = b"one file\n" * 100
    for suffix, packed in [("gz", gzip.compress(data)), ("bz2", bz2.compress(data)), ("xz", lzma.compress(data))]:
        open("single.txt." + suffix, "wb").write(packed)
        expected["single.txt." + suffix] = [content("single.txt", data)]
    open("single.txt", "wb").write(data)
    for program, suffix in [("zstd", "zst"), ("lz4", "lz4")]:
        subprocess.run([program, "-q", "single.txt", "single.txt." + suffix], check=True)
        expected["single.txt." + suffix] = [content("single.txt", data)]
    with open("named.gz", "wb") as file, gzip.GzipFile("inside.txt", "wb", fileobj=file) as packed:
        packed.write(data)
    expected["named.gz"] = [content("inside.txt", data)]
    # Only one layer is taken off.
    twice = gzip.compress(gzip.compress(data))
    open("twice.gz", "wb").write(twice)
    expected["twice.gz"] = [content("twice", gzip.decompress(twice))]
    # Zeros are a tar without entries, too.
    open("zeros.gz", "wb").write(gzip.compress(bytes(100_000)))
    expected["zeros.gz"] = [content("zeros", bytes(100_000))]


def others():
    """Formats that only libarchive's own program writes here; they must give what was put in."""
    os.makedirs("files/folder", exist_ok=True)
    files = sorted([(path, data) for path, data in FILES if "long" not in path])
    for path, data in files:
        open("files/" + path, "wb").write(data)
    for form in ["7zip", "iso9660", "odc", "newc"]:
        file = "made." + form
        subprocess.run(["bsdtar", "-cf", "../" + file, "--format", form] + [path for path, _ in files],
                       cwd="files", check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        expected[file] = [content(path, data) for path, data in files]
    file = "made.ar"
    names = ["readme.txt", "empty"]
    subprocess.run(["ar", "rc", "../" + file] + names, cwd="files", check=True)
    expected[file] = [content(path, data) for path, data in FILES if path in names]


def rar4(files):
    """RAR 4 with files that are stored, from its description (technote.txt)."""
    def block(kind, flags, body, data=b""):
        head = struct.pack("<BHH", kind, flags, 7 + len(body)) + body
        return struct.pack("<H", zlib.crc32(head) & 0xFFFF) + head + data
    out = b"Rar!\x1a\x07\x00" + block(0x73, 0, bytes(6))
    for name, data in files:
        body = struct.pack("<IIBIIBBHI", len(data), len(data), 3, zlib.crc32(data), 0x5A214000, 20, 0x30, len(name), 0o100644)
        out += block(0x74, 0x8000, body + name, data)
    return out + block(0x7B, 0x4000, b"")


def vint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def rar5(files):
    """RAR 5 with files that are stored, from the description of its format."""
    def block(body, data=b""):
        head = vint(len(body)) + body
        return struct.pack("<I", zlib.crc32(head)) + head + data
    out = b"Rar!\x1a\x07\x01\x00" + block(vint(1) + vint(0) + vint(0))
    for name, data in files:
        body = vint(2) + vint(2) + vint(len(data)) + vint(4) + vint(len(data)) + vint(0o100644)
        body += struct.pack("<I", zlib.crc32(data)) + vint(0) + vint(1) + vint(len(name)) + name
        out += block(body, data)
    return out + block(vint(5) + vint(0) + vint(0))


def rars():
    files = [(b"a.txt", b"hello\n"), (b"b.bin", bytes(range(256)) * 9)]
    open("made.rar", "wb").write(rar4(files))
    open("made5.rar", "wb").write(rar5(files))
    for file in ["made.rar", "made5.rar"]:
        expected[file] = [content(name.decode(), data) for name, data in files]


def zipped(files, comment=b"", before=b""):
    stream = io.BytesIO(before)
    with zipfile.ZipFile(stream, "a") as archive:
        for path, data in files:
            archive.writestr(path, data)
        archive.comment = comment
    return stream.getvalue()


def ends():
    """A ZIP is where its end says, in the last 64 KB, whatever is in front of it and behind."""
    last = [("last.txt", b"the last\n" * 9)]
    program = b"MZ" + bytes(500)
    made = {
        "comment": zipped(last, b"c" * 60_000, program), "behind": zipped(last, before=program) + b"j" * 17_000,
        "empty-first": zipped([]) + zipped(last) + b"q" * 17_000}
    for name, data in made.items():
        file = f"end-{name}.zip"
        open(file, "wb").write(data)
        expected[file] = unzipped(file)
    # Behind another archive, whose files count as well.
    for front in ["single.txt.gz", "single.txt.bz2", "made.7zip", "made.iso9660", "made.newc", "gnu.tar"]:
        file = f"end-{front}.zip"
        open(file, "wb").write(open(front, "rb").read() + zipped(last, b"c" * 17_000))
        inner = [content(file, b"one file\n" * 100)] if "single" in front else expected[front]
        expected[file] = inner + unzipped(file)
    # A ZIP that is itself a file of a tar is that file, and no more.
    for name, data in [("last.tar", zipped(last)), ("comment.tar", zipped(last, b"c" * 9000))]:
        with tarfile.open("end-" + name, "w") as archive:
            info = tarfile.TarInfo("in.zip")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        expected["end-" + name] = [content("in.zip", data)]


def modes():
    """What has content is a file, whatever its mode says: programs for Windows know no modes."""
    files = []
    with zipfile.ZipFile("modes.zip", "w") as archive:
        for kind in range(16):
            info = zipfile.ZipInfo(f"mode-{kind}")
            info.create_system, info.external_attr = 3, (kind << 12 | 0o755) << 16
            archive.writestr(info, b"a\0b%d" % kind)
            files.append(content(info.filename, b"a\0b%d" % kind))
        info = zipfile.ZipInfo("mode-dos")
        info.create_system, info.external_attr = 0, 0x10
        archive.writestr(info, b"dos")
        files.append(content(info.filename, b"dos"))
    expected["modes.zip"] = files


if len(sys.argv) > 1:
    for file in sys.argv[1:]:
        try:
            expected[file] = unzipped(file)
        except zipfile.BadZipFile:  # a damaged one, of which Python reads nothing
            pass
else:
    zips()
    hidden()
    tars()
    singles()
    others()
    rars()
    ends()
    modes()
json.dump(expected, open("expected.json", "w"))
