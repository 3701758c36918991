import PDFDocument
import Testing

struct PageTests {
  init() throws { try #require(popplerIsReady) }

  /// Two pages with a word on each. The first has an annotation that names its page, which poppler looks for among as many
  /// pages as the document claims.
  private static func draft(pages: String) -> Draft {
    var draft = Draft()
    draft.objects[1] = "<</Type/Pages/Kids[3 0 R 4 0 R]\(pages)>>"
    draft.objects[2] = """
      <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 5 0 R/Resources<</Font<</F 7 0 R>>>>\
      /Annots[<</Subtype/Text/Rect[0 0 9 9]/P 3 0 R>>]>>
      """
    draft.objects += [
      "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 6 0 R/Resources<</Font<</F 7 0 R>>>>>>",
      "<</Length 30>>stream\nBT /F 9 Tf 9 60 Td (one) Tj ET \nendstream",
      "<</Length 30>>stream\nBT /F 9 Tf 9 60 Td (two) Tj ET \nendstream",
      "<</Type/Font/Subtype/Type1/BaseFont/Courier>>",
    ]
    return draft
  }

  private static func text(_ document: borrowing Document, page: Int) -> String? {
    var text: [UInt8] = []
    return document.readText(ofPage: page) { text += $0 } ? String(decoding: text, as: UTF8.self) : nil
  }

  @Test(arguments: [
    "/Count 2", "/Count 1", "/Count 0", "/Count -1", "/Count 99",
    "/Count 2.0", "/Count(x)", "",
  ])
  func allPagesAreReadWhateverIsClaimed(_ claim: String) throws {
    try Self.draft(pages: claim).bytes.withUnsafeBytes { bytes in
      let document = try Document(bytes)
      let count = document.pageCount
      #expect(count == 2)
      let texts = [Self.text(document, page: 0), Self.text(document, page: 1), Self.text(document, page: 2)]
      #expect(texts == ["one\n\n", "two\n\n", nil])
    }
  }

  @Test func pagesBeyondTheNumberOfALinearizedFileAreReadWithoutAnnotations() throws {
    var objects = Self.draft(pages: "/Count 2").objects
    objects[3] = objects[3].replacing(
      "/Contents", with: "/Annots[<</Subtype/Text/Rect[0 0 9 9]/P 4 0 R>>]/Contents")
    var text = "%PDF-1.7\n9 0 obj<</Linearized 1/L 10000/H[0 0]/O 3/E 1/N 1/T 1>>endobj\n"
    for (number, object) in zip(1..., objects) { text += "\(number) 0 obj\(object)endobj\n" }
    text += "trailer<</Root 1 0 R>>\n%%EOF\n"
    let spaces = String(repeating: " ", count: 10_000 - text.utf8.count)
    try Array((text + spaces).utf8).withUnsafeBytes { bytes in
      let document = try Document(bytes)
      let isLinearized = document.isLinearized
      let texts = [Self.text(document, page: 0), Self.text(document, page: 1)]
      #expect(isLinearized && texts == ["one\n\n", "two\n\n"])
    }
  }

  @Test func pagesAreReadAfterTheyWereInspected() throws {
    try Self.draft(pages: "/Count 1").bytes.withUnsafeBytes { bytes in
      let document = try Document(bytes)
      let findings = document.inspect()
      #expect(findings == (false, 0))
      let text = Self.text(document, page: 1)
      #expect(text == "two\n\n")
    }
  }

  @Test func aPageThatIsNoneIsNotRead() throws {
    try Self.draft(pages: "").bytes.withUnsafeBytes { bytes in
      let document = try Document(bytes)
      for page in [-1, 2, Int.max] {
        let (loads, size, text) = (
          document.loadsPage(page), document.size(ofPage: page) == nil, Self.text(document, page: page)
        )
        #expect(!loads && size && text == nil)
      }
    }
  }
}
