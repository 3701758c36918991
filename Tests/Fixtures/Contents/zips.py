"""Writes ZIPs into the current folder and expected.json: of what each must be found damaged; null: it passes. A program that reads
the damaged ones shows a file that another hides."""
import io, json, random, struct, zipfile

expected = {}
FILES = [("ok.txt", b"fine\n" * 20), ("hidden.txt", b"the other\n" * 30), ("last.bin", bytes(range(256)))]


def write(name, data, fault=None):
    file = name + ".zip"
    open(file, "wb").write(data)
    expected[file] = fault


def zipped(files=FILES, comment=b"", before=b"", method=zipfile.ZIP_DEFLATED, large=False):
    stream = io.BytesIO(before)
    with zipfile.ZipFile(stream, "a", method) as archive:
        for path, data in files:
            with archive.open(zipfile.ZipInfo(path), "w", force_zip64=large) as entry:
                entry.write(data)
        archive.comment = comment
    return stream.getvalue()


class Stream(io.RawIOBase):
    """What cannot seek: zipfile writes sizes behind the data then."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def streamed():
    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in FILES:
            archive.writestr(path, data)
    return stream.data


class Parts:
    """A ZIP without a comment in its parts, of which any may be changed."""

    def __init__(self, data):
        end = data.rfind(b"PK\5\6")
        self.count, self.size, self.offset = struct.unpack("<HII", data[end + 10:end + 20])
        self.front, self.directory, self.behind = data[:self.offset], bytearray(data[self.offset:end]), b""

    def headers(self):
        """Where the headers of the directory lie."""
        at, found = 0, []
        while at < len(self.directory):
            found.append(at)
            at += 46 + sum(struct.unpack("<HHH", self.directory[at + 28:at + 34]))
        return found

    def move(self, by):
        """Tells of each entry that it lies so many bytes further on."""
        for at in self.headers():
            offset, = struct.unpack("<I", self.directory[at + 42:at + 46])
            self.directory[at + 42:at + 46] = struct.pack("<I", offset + by)

    def end(self, count=None, size=None, offset=None, here=None):
        count, size = self.count if count is None else count, self.size if size is None else size
        return struct.pack("<4s4HIIH", b"PK\5\6", 0, 0, count if here is None else here, count, size,
                           self.offset if offset is None else offset, 0)

    def large_end(self, data=b"", at=None, **small):
        """The end of a ZIP64, whose small record only points there."""
        record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44 + len(data), 45, 45, 0, 0, self.count, self.count, self.size,
                             self.offset) + data
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, self.offset + self.size if at is None else at, 1)
        return record + locator + self.end(**{"count": 0xFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF, **small})

    def zip(self, end=None):
        return self.front + bytes(self.directory) + self.behind + (self.end() if end is None else end)


def consistent():
    """As programs write them."""
    write("plain", zipped())
    write("large", zipped(large=True))
    write("streamed", streamed())
    write("comment", zipped(comment=b"c" * 65_535))
    write("empty", zipped([]))
    write("nested", zipped([("inner.zip", zipped())], method=zipfile.ZIP_STORED))
    # A program in front, whose bytes may look like an entry; the offsets count from its beginning or from its end.
    program = b"MZ" + bytes(500) + b"PK\3\4" + b"\1" * 500
    write("program", zipped(before=program))
    write("program-apart", program + zipped())
    for name, mark in [("mark", b"PK\7\x08"), ("mark-of-one", b"PK00")]:
        parts = Parts(zipped())
        parts.front = mark + parts.front
        parts.offset += 4
        parts.move(4)
        write(name, parts.zip())
        parts = Parts(zipped())
        write(name + "-apart", mark + parts.zip())
    # A database keeps what is larger than a page in several, each with a number in front: no ZIP to anybody.
    parts = Parts(zipped(FILES + [("random.bin", random.Random(1).randbytes(9000))]))
    parts.front = b"database" + b"".join(b"page" + parts.front[at:at + 500] for at in range(0, parts.offset, 500)) + b"page"
    write("database", parts.zip())
    parts = Parts(zipped())
    write("large-end", parts.zip(parts.large_end()))
    write("large-end-data", parts.zip(parts.large_end(data=b"d" * 50)))
    write("large-end-same", parts.zip(parts.large_end(count=parts.count, size=parts.size, offset=parts.offset)))
    parts.directory += b"PK\5\5" + struct.pack("<H", 30) + b"s" * 30
    parts.size += 36
    write("signed", parts.zip())
    # Android's builders fill gaps with entries that have no name; in what is skipped, old bytes stand.
    filler = struct.pack("<4s5H3IHH", b"PK\3\4", 0, 0, 0, 0, 0, 0, 0, 0, 0, 300) + (b"PK\3\4old" * 50)[:300]
    parts = Parts(zipped())
    parts.front += filler + filler + b"signing block" * 40
    parts.offset = len(parts.front)
    write("filled", parts.zip())


def hiding():
    leaves_out, no_directory = "leaves out what it begins with", "its end leads to no directory"
    parts = Parts(zipped())
    second, third = parts.headers()[1:]
    write("half", parts.zip(parts.end(size=second)), leaves_out)
    write("no-size", parts.zip(parts.end(size=0)), leaves_out)
    write("none", parts.zip(parts.end(count=0, size=0)), leaves_out)
    write("nowhere", parts.zip(parts.end(count=0, size=0, offset=0)), leaves_out)
    write("no-end", parts.zip(b""), no_directory)
    write("no-directory", parts.front, no_directory)
    write("offset", parts.zip(parts.end(offset=parts.offset + 1)), "not where its end record says")
    write("fewer", parts.zip(parts.end(count=2)), "3 entries, and its end record says 2")
    write("more", parts.zip(parts.end(count=4)), "3 entries, and its end record says 4")
    write("two-numbers", parts.zip(parts.end(here=2)), "two numbers of entries")
    write("joined", zipped(FILES[:1]) + zipped(FILES[1:]), leaves_out)
    # Behind a text, where the first byte does not tell.
    write("text-size", b"text" + parts.zip(parts.end(size=0)), "0 entries, and its end record says 3")
    for name, at in [("first", 0), ("second", second)]:
        parts = Parts(zipped())
        parts.directory[at] = 0
        write("signature-" + name, parts.zip(), "does not end where its end record begins")
        write("signature-behind-" + name, b"text" + parts.zip(), "does not end where its end record begins")
    parts = Parts(zipped())
    parts.behind = b"behind" * 9
    write("behind", parts.zip(parts.end(size=parts.size + 54)), "does not end where its end record begins")
    # An entry that the directory does not name: at the beginning, in the middle, at the end.
    for gone in range(3):
        parts = Parts(zipped())
        bounds = parts.headers() + [len(parts.directory)]
        del parts.directory[bounds[gone]:bounds[gone + 1]]
        parts.count, parts.size = 2, len(parts.directory)
        write(f"unnamed-{gone}", parts.zip(), "an entry that its directory does not name")
    parts = Parts(zipped())
    parts.directory += parts.directory[second:third]
    parts.count, parts.size = 4, len(parts.directory)
    write("twice", parts.zip(), "names an entry twice")
    parts = Parts(zipped())
    parts.directory[third + 42:third + 46] = struct.pack("<I", 7)
    write("not-there", parts.zip(), "names an entry that is not there")
    parts = Parts(zipped())
    parts.directory[third + 42:third + 46] = struct.pack("<I", parts.offset)
    write("out", parts.zip(), "leads out of it")
    # The entry's own header ends it earlier; the rest of it is an entry to those who read from the beginning on.
    inner = zipped(FILES[1:2], method=zipfile.ZIP_STORED)
    parts = Parts(zipped([("ok.txt", b"fine" + inner)], method=zipfile.ZIP_STORED))
    parts.front = parts.front[:18] + struct.pack("<II", 4, 4) + parts.front[26:]
    write("short", parts.zip(), "another size than its directory says")
    parts = Parts(zipped())
    write("large-moved", parts.zip(parts.large_end(at=parts.offset)), "not where its end record says")
    write("large-none", parts.zip(parts.large_end()[56:]), no_directory)
    locator = parts.large_end()[56:76]
    write("large-lost", parts.zip(locator + parts.end(size=parts.size + 20)), "ZIP64 end record is not where it must be")
    write("large-count", parts.zip(parts.large_end(count=2)), "two end records contradict")
    write("large-size", parts.zip(parts.large_end(size=second)), "two end records contradict")
    write("large-offset", parts.zip(parts.large_end(offset=0)), "two end records contradict")
    # Numbers that no sum can hold.
    for name, count, size, offset, fault in [
            ("size", 3, 2**63 - 1, 2**63 - 1, "would begin before the content"),
            ("offset", 3, 0, 2**63 + 5, no_directory), ("count", 2**64 - 1, 2**64 - 1, 1, no_directory)]:
        parts = Parts(zipped())
        at = parts.size + parts.offset
        parts.count, parts.size, parts.offset = count, size, offset
        write("large-edge-" + name, parts.zip(parts.large_end(at=at)), fault)


consistent()
hiding()
json.dump(expected, open("expected.json", "w"))
