/// A PDF with active parts: a form field, an embedded file, and a script that runs on opening.
func formPDF() -> [UInt8] {
  var writer = PDFWriter()
  let font = writer.addHelvetica()
  let fonts: PDFObject = ["Font": ["Helv": .reference(font)]]
  let pages = writer.reserve()
  let page = writer.reserve()
  let field = writer.addTextField(named: "name", value: "Ada Example", on: page, fonts: fonts)
  let label = "BT /Helv 12 Tf 72 740 Td (Your name:) Tj ET\n"
  let content = writer.add(.stream([], Array(label.utf8)))
  writer.define(
    page,
    as: [
      "Type": .name("Page"), "Parent": .reference(pages), "MediaBox": TextPage.mediaBox, "Resources": fonts,
      "Contents": .reference(content), "Annots": [.reference(field)],
    ])
  writer.define(pages, as: ["Type": .name("Pages"), "Kids": [.reference(page)], "Count": 1])
  let attachment = writer.addEmbeddedFile(
    named: "notes.txt", Array("Notes that travel inside the form.\n".utf8))
  let script = writer.add([
    "S": .name("JavaScript"), "JS": .text("this.getField('name').required = true;"),
  ])
  // Name trees of one node: ISO 32000-1 clause 7.9.6, table 31.
  let root = writer.add([
    "Type": .name("Catalog"), "Pages": .reference(pages),
    "AcroForm": ["Fields": [.reference(field)], "DR": fonts, "DA": .text("/Helv 12 Tf 0 g")],
    "Names": [
      "EmbeddedFiles": ["Names": [.text("notes.txt"), .reference(attachment)]],
      "JavaScript": ["Names": [.text("require-name"), .reference(script)]],
    ],
  ])
  return writer.file(root: root)
}

extension PDFWriter {
  /// A text field that is its own widget annotation: ISO 32000-1 clauses 12.5.6.19 and 12.7.4.3.
  fileprivate mutating func addTextField(
    named name: String, value: String, on page: PDFReference, fonts: PDFObject
  ) -> PDFReference {
    let text = "/Tx BMC q BT /Helv 12 Tf 0 g 2 6 Td (\(value)) Tj ET Q EMC\n"
    let appearance = add(
      .stream(
        [
          ("Type", .name("XObject")), ("Subtype", .name("Form")), ("BBox", .rectangle(0, 0, 240, 20)),
          ("Resources", fonts),
        ], Array(text.utf8)))
    return add([
      "Type": .name("Annot"), "Subtype": .name("Widget"), "Rect": .rectangle(140, 734, 380, 754), "F": 4,
      "P": .reference(page), "FT": .name("Tx"), "T": .text(name), "V": .text(value),
      "DA": .text("/Helv 12 Tf 0 g"), "AP": ["N": .reference(appearance)],
    ])
  }

  /// A file specification with its embedded file stream: ISO 32000-1 clauses 7.11.3 and 7.11.4.
  fileprivate mutating func addEmbeddedFile(named name: String, _ content: [UInt8]) -> PDFReference {
    let parameters: PDFObject = ["Size": .integer(content.count), "ModDate": .text("D:20260105093000Z")]
    let stream = add(
      .stream(
        [("Type", .name("EmbeddedFile")), ("Subtype", .name("text#2Fplain")), ("Params", parameters)], content
      ))
    return add([
      "Type": .name("Filespec"), "F": .text(name), "UF": .text(name),
      "EF": ["F": .reference(stream), "UF": .reference(stream)],
    ])
  }
}
