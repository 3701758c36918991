"""Writes contents whose type libmagic does not know, or guesses, into the current folder, and expected.json: the type that each must be
found to have."""
import io, json, struct, zipfile, zlib

OFFICE = "application/vnd.openxmlformats-officedocument."
WORD, EXCEL, SHOW = (OFFICE + name for name in (
    "wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation"))
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'


def archive(*entries, method=zipfile.ZIP_DEFLATED, force=False):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as file:
        for name, data in entries:
            with file.open(zipfile.ZipInfo(name) if method == zipfile.ZIP_STORED else name, "w", force_zip64=force) as entry:
                entry.write(data if isinstance(data, bytes) else data.encode())
    return whole.getvalue()


def types(*parts, encoding="utf-8"):
    rows = "".join(f'<Override PartName="/{number}" ContentType="{part}"/>' for number, part in enumerate(parts))
    text = f'<?xml version="1.0" encoding="{encoding}"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    return (text + '<Default Extension="xml" ContentType="application/xml"/>' + rows + "</Types>").encode(encoding)


def office(main, *parts, first=(), name="[Content_Types].xml", encoding="utf-8", **options):
    """A package with its list behind other entries, where there are any."""
    list = (name, types(main, *parts, encoding=encoding))
    return archive(*first, list, ("_rels/.rels", RELATIONS), ("word/document.xml", "<a/>"), **options)


def long(package):
    """The same with its directory told by records of ZIP64."""
    end = len(package) - 22
    count, size, begin = struct.unpack("<HII", package[end + 10:end + 20])
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, begin)
    locator = struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    return package[:end] + record + locator + package[end:end + 12] + b"\xff" * 8 + b"\0\0"


def media(major, *others):
    brands = major.encode() + bytes(4) + "".join(others).encode()
    return struct.pack(">I", 8 + len(brands)) + b"ftyp" + brands + struct.pack(">I", 40) + b"free" + bytes(32)


def pdf(before):
    return before + b"%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\nxref\n0 1\ntrailer\n<</Root 1 0 R>>\nstartxref\n60\n%%EOF\n"


TRASH, MARK, ODT = ("[trash]/0000.dat", b"\xff" * 9), "\ufeff", "application/vnd.oasis.opendocument.text"
VBA, PROJECT = "application/vnd.ms-office.vbaProject", ("word/vbaProject.bin", b"\xd0\xcf\x11\xe0")
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
CALENDAR, CARD = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n", "BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n"

CONTENTS = {
    "plain.docx": (office(WORD + ".main+xml"), WORD),
    "trash-first.docx": (office(WORD + ".main+xml", first=[TRASH]), WORD),
    "relations-first.docx": (office(WORD + ".main+xml", first=[("_rels/x.rels", RELATIONS)]), WORD),
    "relations-first.xlsx": (office(EXCEL + ".main+xml", first=[("_rels/x.rels", RELATIONS)]), EXCEL),
    "no-macros.pptx": (office(SHOW + ".main+xml"), SHOW),
    "project-in-a-plain.docx": (office(WORD + ".main+xml", VBA), "application/vnd.ms-word.document.macroEnabled.12"),
    "both-lists.docx": (archive(("[Content_Types].xml", types(WORD + ".main+xml")), ("[content_types].XML", types(
        "application/vnd.ms-word.document.macroEnabled.main+xml"))), "application/vnd.ms-word.document.macroEnabled.12"),
    "book-and-document.docm": (archive(("mimetype", "application/epub+zip"), ("[Content_Types].xml", types(
        "application/vnd.ms-word.document.macroEnabled.main+xml"))), "application/vnd.ms-word.document.macroEnabled.12"),
    "no-list.docx": (archive(("word/document.xml", "<a/>"), ("docProps/core.xml", "<a/>")), "application/zip"),
    "cut-short.docx": (office(WORD + ".main+xml")[:-30], "application/zip"),
    "package.nupkg": (office("application/octet"), "application/zip"),
    "packed.odt": (archive(("mimetype", ODT), ("content.xml", "<a/>")), ODT),
    "mark-last.odt": (archive(("content.xml", "<a/>"), ("mimetype", ODT)), ODT),
    "packed.epub": (archive(("mimetype", "application/epub+zip")), "application/epub+zip"),
    "false-mark.zip": (archive(("mimetype", "image/png")), "application/zip"),
    "manifest-first.jar": (archive(("META-INF/", ""), ("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")), "application/java-archive"),
    "manifest-last.jar": (archive(("A.class", b"\xca\xfe\xba\xbe"), ("META-INF/MANIFEST.MF", "")), "application/java-archive"),
    "marked.svg": (MARK + SVG, "image/svg+xml"),
    "comment.svg": ("<!-- x -->\n" + SVG, "image/svg+xml"),
    "long.svg": ('<?xml version="1.0"?><!--' + "x" * 5000 + "-->" + SVG, "image/svg+xml"),
    "very-long.svg": ("<!--" + "x" * 900_000 + "-->" + SVG, "image/svg+xml"),
    "spaces.svg": (" \n" * 3000 + SVG, "image/svg+xml"),
    "prefix.svg": ("<!-- -->" + SVG.replace("svg ", "s:svg ").replace("xmlns=", "xmlns:s=").replace("</svg", "</s:svg"), "image/svg+xml"),
    "entity.svg": ('<!DOCTYPE a [<!ENTITY s "http://www.w3.org/2000/svg">]>' + "\n" * 5000 + '<a:svg xmlns:a="&s;"/>', "image/svg+xml"),
    "wide.svg": (SVG.encode("utf-16"), "image/svg+xml"),
    "long.xhtml": ("<?xml version='1.0'?><!--" + "x" * 5000 + '--><html xmlns="http://www.w3.org/1999/xhtml"/>', "application/xhtml+xml"),
    "page.html": ('<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', "text/html"),
    "feed.xml": ('<?xml version="1.0"?><!-- svg is no root --><rss/>', "text/xml"),
    "marked.json": (MARK + '{"a": [1, 2.5e-3, true, null, "\\u00e9", {}]}\n', "application/json"),
    "large.json": (json.dumps(["x" * 70] * 110_000), "application/json"),
    "no.json": ("[" + "x" * 5000 + "]", "text/plain"),
    "open.json": (MARK + '{"a": [1, 2}', "text/plain"),
    "marked.ics": (MARK + CALENDAR, "text/calendar"),
    "marked.vcf": (MARK + CARD, "text/vcard"),
    "marked.txt": (MARK + "words in a line\n", "text/plain"),
    "sony.mp4": (media("MSNV", "MSNV", "mp42", "isom"), "video/mp4"),
    "mif1.avif": (media("mif1", "mif1", "miaf", "avif"), "image/avif"),
    "mif1.heic": (media("mif1", "mif1", "heic"), "image/heic"),
    "major.heic": (media("heic", "mif1", "heic"), "image/heic"),
    "mif1.heif": (media("mif1", "mif1"), "image/heif"),
    "odd-brand.mp4": (media("XAVC", "mp42"), "video/mp4"),
    "no-brand.bin": (media("zzzz", "zzzz"), "application/octet-stream"),
    "behind-16.pdf": (pdf(bytes(range(200, 216))), "application/pdf"),
    "behind-1024.pdf": (pdf(b"\xe9" * 1024), "application/pdf"),
    "behind-1025.pdf": (pdf(b"\xe9" * 1025), "text/plain"),
    "on-pdf.txt": ("x" * 600 + "a file begins with %PDF-1.4\n", "text/plain"),
}

for name, (folder, part) in {
    "docm": ("word", "document.macroEnabled"), "dotm": ("word", "template.macroEnabledTemplate"),
    "xlsm": ("excel", "sheet.macroEnabled"), "xltm": ("excel", "template.macroEnabled"), "xlam": ("excel", "addin.macroEnabled"),
    "pptm": ("powerpoint", "presentation.macroEnabled"), "ppsm": ("powerpoint", "slideshow.macroEnabled"),
    "potm": ("powerpoint", "template.macroEnabled"), "ppam": ("powerpoint", "addin.macroEnabled"),
    "vsdm": ("visio", "drawing.macroEnabled"),
}.items():
    found = f"application/vnd.ms-{folder}.{part.removesuffix('Template')}.12"
    CONTENTS["first." + name] = (office(f"application/vnd.ms-{folder}.{part}.main+xml"), found)
    CONTENTS["last." + name] = (office(f"application/vnd.ms-{folder}.{part}.main+xml", first=[TRASH, PROJECT]), found)

DOCM = "application/vnd.ms-word.document.macroEnabled.12"
MACROS = DOCM.replace(".12", ".main+xml")
CONTENTS |= {
    "first.xlsb": (office("application/vnd.ms-excel.sheet.binary.macroEnabled.main"), "application/vnd.ms-excel.sheet.binary.macroEnabled.12"),
    "capitals.docm": (office(MACROS.upper(), name="[CONTENT_TYPES].XML"), DOCM),
    "stored.docm": (office(MACROS, method=zipfile.ZIP_STORED), DOCM),
    "wide.docm": (office(MACROS, encoding="utf-16"), DOCM),
    "comment.docm": (office(MACROS)[:-2] + b"\x16\0PK\5\6" + bytes(18), DOCM),
    "long-directory.docm": (long(office(MACROS)), DOCM),
    "long-entries.docm": (office(MACROS, force=True), DOCM),
    "many-parts.docm": (office(WORD + ".styles+xml", *[WORD + ".footer+xml"] * 20_000, MACROS), DOCM),
    # What cannot be unpacked, or not within the limit, is vouched for by nothing.
    "endless.docx": (office(WORD + ".main+xml" + " " * (5 << 20)), "application/zip"),
    "lzma.docx": (archive(("[Content_Types].xml", types(WORD + ".main+xml")), ("word/a", ""), method=zipfile.ZIP_LZMA), "application/zip"),
}

for name, (content, _) in CONTENTS.items():
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
with open("expected.json", "w") as file:
    json.dump({name: type for name, (_, type) in CONTENTS.items()}, file)
