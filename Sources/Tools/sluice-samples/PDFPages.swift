/// Lines of text on a page of A4.
struct TextPage {
  static let mediaBox = PDFObject.rectangle(0, 0, 595, 842)

  let lines: [String]

  init(_ lines: String...) {
    self.lines = lines
  }

  /// Text objects: ISO 32000-1 clause 9.4. The first line is large, the rest follow below it.
  var content: [UInt8] {
    var content: [UInt8] = []
    content.append(ascii: "BT\n/F1 20 Tf 24 TL 72 756 Td\n")
    for (index, line) in lines.enumerated() {
      if index == 1 { content.append(ascii: "/F1 12 Tf 18 TL T*\n") }
      PDFObject.string(Array(line.utf8)).write(to: &content) { $0 }
      content.append(ascii: " Tj T*\n")
    }
    content.append(ascii: "ET\n")
    return content
  }
}

extension PDFWriter {
  /// One of the fourteen standard fonts, which need no font file: ISO 32000-1 clause 9.6.2.2.
  mutating func addHelvetica() -> PDFReference {
    add([
      "Type": .name("Font"), "Subtype": .name("Type1"), "BaseFont": .name("Helvetica"),
      "Encoding": .name("WinAnsiEncoding"),
    ])
  }

  /// A page tree of one level: ISO 32000-1 clause 7.7.3.
  mutating func addPages(_ pages: [TextPage]) -> PDFReference {
    let tree = reserve()
    let resources: PDFObject = ["Font": ["F1": .reference(addHelvetica())]]
    let kids = pages.map { page in
      let content = add(.stream([], page.content))
      let page = add([
        "Type": .name("Page"), "Parent": .reference(tree), "MediaBox": TextPage.mediaBox,
        "Resources": resources, "Contents": .reference(content),
      ])
      return PDFObject.reference(page)
    }
    define(tree, as: ["Type": .name("Pages"), "Kids": .array(kids), "Count": .integer(kids.count)])
    return tree
  }

  /// The catalog of a document that has nothing but pages: ISO 32000-1 clause 7.7.2.
  mutating func addCatalog(pages: PDFReference) -> PDFReference {
    add(["Type": .name("Catalog"), "Pages": .reference(pages)])
  }
}
