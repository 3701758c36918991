/// A page tree without leaves: readers open it, and there is nothing to read.
func emptyTreePDF() -> [UInt8] {
  var writer = PDFWriter()
  let root = writer.addCatalog(pages: writer.addPages([]))
  return writer.file(root: root)
}

/// A page that is one uncompressed scan of exactly 11 MiB of noise, so no compressor makes it smaller.
func tooLargePDF() -> [UInt8] {
  let (width, height) = (4096, 2816)
  var noise = Noise(seed: 11)
  var writer = PDFWriter()
  let pages = writer.reserve()
  // An image XObject: ISO 32000-1 clause 8.9.5.
  let scan = writer.add(
    .stream(
      [
        ("Type", .name("XObject")), ("Subtype", .name("Image")), ("Width", .integer(width)),
        ("Height", .integer(height)), ("ColorSpace", .name("DeviceGray")), ("BitsPerComponent", 8),
      ], noise.bytes(count: width * height)))
  let content = writer.add(.stream([], Array("q 595 0 0 409 0 216 cm /Scan Do Q\n".utf8)))
  let page = writer.add([
    "Type": .name("Page"), "Parent": .reference(pages), "MediaBox": TextPage.mediaBox,
    "Resources": ["XObject": ["Scan": .reference(scan)]], "Contents": .reference(content),
  ])
  writer.define(pages, as: ["Type": .name("Pages"), "Kids": [.reference(page)], "Count": 1])
  let root = writer.addCatalog(pages: pages)
  return writer.file(root: root)
}
