"""Writes HEIC and AVIF, each with EXIF of a place, into the current folder, and expected.json: what becomes of each."""
import base64, json, random, struct, zlib

# A tile of 64 x 64 pixels in one colour, as x265 and libaom write it: its configuration, and its data.
HEVC = [base64.b64decode(text) for text in (
    "AQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQArQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqSSmubgIaDAgA"
    "AAMAyAAAAwAIQGIAAQAHRAHBcrAiQA==",
    "AAAAGCgBrxOA5TPAn//l4o//qxzw+zICtUPU+A==")]
AV1 = [base64.b64decode(text) for text in (
    "gQAMAA==", "EgAKCRgVf/2iAhoNCDIdGUeHhiGHnnnmgAAAz8xFIr4ko4g8EiBGi2dRr9g=")]


def box(kind, *parts):
    body = b"".join(parts)
    return struct.pack(">I", 8 + len(body)) + kind + body


def full(kind, *parts, version=0, flags=0):
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def exif(place=True):
    """With an orientation, which does not count: the file itself says how the picture is turned."""
    entries = [struct.pack(">HHII", 0x0112, 3, 1, 6 << 16)] + ([struct.pack(">HHII", 0x8825, 4, 1, 38)] if place else [])
    first = struct.pack(">H", len(entries)) + b"".join(entries) + bytes(4)
    north = struct.pack(">HHI4s", 1, 2, 2, b"N\0\0\0") + struct.pack(">HHII", 2, 5, 3, 68)
    second = struct.pack(">H", 2) + north + bytes(4) + struct.pack(">6I", 47, 1, 22, 1, 0, 1)
    return struct.pack(">I", 6) + b"Exif\0\0MM\0*" + struct.pack(">I", 8) + first + (second if place else b"")


def size(width, height):
    return full(b"ispe", struct.pack(">II", width, height))


def picture(items, properties, brands, primary=1, parts={}, masks={}, about=exif(), described=1):
    """Items are a type, data, and the numbers of properties, counted from 1. `parts` are the items of which an item is made; `masks`
    are the items to which a mask refers. `about` is the EXIF of the item `described`."""
    items = items + [(b"Exif", about, [])]
    ids = range(1, len(items) + 1)
    infos = [full(b"infe", struct.pack(">HH4s", id, 0, item[0]), b"\0", version=2, flags=any(id in some for some in parts.values())) for id, item in zip(ids, items)]
    references = [box(b"cdsc", struct.pack(">HHH", len(items), 1, described))]
    for kind, lists in (b"dimg", parts), (b"auxl", masks):
        references += [box(kind, struct.pack(f">HH{len(to)}H", id, len(to), *to)) for id, to in lists.items()]
    uses = [(id, item[2]) for id, item in zip(ids, items) if item[2]]
    used = b"".join(struct.pack(">HB", id, len(numbers)) + bytes(number | 0x80 for number in numbers) for id, numbers in uses)

    def meta(base):
        places, at = b"", base
        for id, item in zip(ids, items):
            places += struct.pack(">HHHII", id, 0, 1, at, len(item[1]))
            at += len(item[1])
        return full(
            b"meta", full(b"hdlr", bytes(4), b"pict", bytes(13)), full(b"pitm", struct.pack(">H", primary)),
            full(b"iloc", b"\x44\0", struct.pack(">H", len(items)), places),
            full(b"iinf", struct.pack(">H", len(items)), *infos), full(b"iref", *references),
            box(b"iprp", box(b"ipco", *properties), full(b"ipma", struct.pack(">I", len(uses)), used)))

    kind = box(b"ftyp", brands[:4], bytes(4), brands)
    data = b"".join(item[1] for item in items)
    return kind + meta(len(kind) + len(meta(0)) + 8) + box(b"mdat", data)


def single(codec=b"hvc1", tile=HEVC, told=(64, 64), brands=b"heicmif1", **options):
    """The properties of AV1 and HEVC have names of their own."""
    return picture([(codec, tile[1], [1, 2])], [box(b"av1C" if tile is AV1 else b"hvcC", tile[0]), size(*told)], brands, **options)


def grid(width, height, columns, rows, shared=False):
    """Tiles that are cut at the right and at the bottom, and turned by a quarter: as phones write what they took. `shared`: all of
    them are the same item."""
    shape = struct.pack(">BBBBHH", 0, 0, rows - 1, columns - 1, width, height)
    tiles = [2] * columns * rows if shared else range(2, 2 + columns * rows)
    return picture(
        [(b"grid", shape, [3, 4])] + [(b"hvc1", HEVC[1], [1, 2]) for _ in set(tiles)],
        [box(b"hvcC", HEVC[0]), size(64, 64), size(width, height), box(b"irot", b"\1")], b"heicmif1", parts={1: tiles})


def loose(width, height, columns, rows, told):
    """Tiles that are smaller than they say, and leave most of the picture open."""
    shape = struct.pack(">BBBBHH", 0, 0, rows - 1, columns - 1, width, height)
    tiles = range(2, 2 + columns * rows)
    return picture(
        [(b"grid", shape, [3])] + [(b"hvc1", HEVC[1], [1, 2]) for _ in tiles],
        [box(b"hvcC", HEVC[0]), size(told, told), size(width, height)], b"heicmif1", parts={1: tiles})


def noise(width, height):
    """A PNG."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + random.Random(row).randbytes(3 * width) for row in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(lines, 0)) + chunk(b"IEND", b"")


def two(**options):
    return picture([(b"hvc1", HEVC[1], [1, 2])] * 2, [box(b"hvcC", HEVC[0]), size(64, 64)], b"heicmif1", **options)


def ring():
    """The second and the third item are each the other one, unchanged."""
    return picture([(b"iden", b"", [1])] * 3, [size(64, 64)], b"heicmif1", parts={1: [2], 2: [3], 3: [2]})


def ring_of_masks():
    """Two pictures that are each the mask of the other."""
    mask = full(b"auxC", b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0")
    return picture(
        [(b"hvc1", HEVC[1], [1, 2, 3])] * 2, [box(b"hvcC", HEVC[0]), size(64, 64), mask], b"heicmif1", masks={1: [2], 2: [1]})


def chain(length):
    """Each item is the next one, unchanged, and the last a picture."""
    return picture(
        [(b"iden", b"", [2])] * length + [(b"hvc1", HEVC[1], [1, 2])], [box(b"hvcC", HEVC[0]), size(64, 64)], b"heicmif1",
        parts={item: [item + 1] for item in range(1, length + 1)})


def overlays(levels, width):
    """Each item is the next one, laid over itself so many times."""
    shape = struct.pack(">BBHHHHHH", 0, 0, 0, 0, 0, 0, 64, 64) + bytes(4 * width)
    return picture(
        [(b"iovl", shape, [2])] * levels + [(b"hvc1", HEVC[1], [1, 2])], [box(b"hvcC", HEVC[0]), size(64, 64)], b"heicmif1",
        parts={item: [item + 1] * width for item in range(1, levels + 1)})


def shown(format="heic", removed="exif location", size=(64, 64)):
    return {"action": "rewritten", "format": format, "removed": removed, "width": size[0], "height": size[1]}


def kept(metadata="exif location"):
    return {"action": "as-is", "kept": metadata}


CONTENTS = {
    "photo.heic": (single(), shown()),
    "no-place.heic": (single(about=exif(place=False)), shown(removed="exif")),
    "mif1.heic": (single(brands=b"mif1heic"), shown()),
    "tiles.heic": (grid(120, 100, 2, 2), shown(size=(100, 120))),
    "many-tiles.heic": (grid(1000, 600, 16, 10), shown(size=(600, 1000))),
    "loose-tiles.heic": (loose(1000, 1000, 2, 2, 512), shown(size=(1000, 1000))),
    "photo.avif": (single(b"av01", AV1, brands=b"avifmif1miaf"), shown("avif")),
    "mif1.avif": (single(b"av01", AV1, brands=b"mif1avifmiaf"), shown("avif")),
    "sequence.avif": (single(b"av01", AV1, brands=b"avisavifmsf1"), kept()),
    "sequence.heic": (single(brands=b"hevcheicmsf1"), kept()),
    "two.heic": (two(), kept()),
    "place-of-the-second.heic": (two(described=2), kept()),
    "other-codec.heic": (single(b"vvc1"), kept()),
    "cut-short.heic": (single()[:-120], {"code": "image-damaged"}),
    "no-pixels.heic": (single(tile=[HEVC[0], b""]), {"code": "image-damaged"}),
    "cut-tile.heic": (single(tile=[HEVC[0], b"\0\0\0\x08" + HEVC[1][4:12]]), {"code": "image-damaged"}),
    "other-size.heic": (single(told=(16, 16)), {"code": "image-damaged"}),
    "large.heic": (grid(6000, 4000, 94, 63, shared=True), shown(size=(1365, 2048))),
    "bomb.heic": (single(told=(30000, 30000)), {"code": "too-many-pixels"}),
    "beyond-limits.heic": (single(told=(65528, 65528)), {"code": "image-damaged"}),
    "ring.heic": (ring(), {"code": "image-damaged"}),
    "ring-behind-a-wrong-size.heic": (ring().replace(b"\x0ecdsc", b"\x80cdsc"), {"code": "image-damaged"}),
    "of-no-item.heic": (picture([(b"iden", b"", [1])], [size(64, 64)], b"heicmif1", parts={1: [9]}), {"code": "image-damaged"}),
    "of-no-picture.heic": (picture([(b"iden", b"", [1])], [size(64, 64)], b"heicmif1", parts={1: [2]}), {"code": "image-damaged"}),
    "ring-of-masks.heic": (ring_of_masks(), {"code": "image-damaged"}),
    "short-chain.heic": (chain(2), shown()),
    "long-chain.heic": (chain(1000), {"code": "image-damaged"}),
    "overlays.heic": (overlays(2, 4), shown()),
    "bomb-of-overlays.heic": (overlays(3, 100), {"code": "image-damaged"}),
    "bomb-of-tiles.heic": (grid(16000, 16000, 250, 1), {"code": "too-many-pixels"}),
}

for name, (content, _) in CONTENTS.items():
    with open(name, "wb") as file:
        file.write(content)
with open("noise.png", "wb") as file:
    file.write(noise(1200, 1200))
with open("expected.json", "w") as file:
    json.dump({name: expected for name, (_, expected) in CONTENTS.items()}, file)
