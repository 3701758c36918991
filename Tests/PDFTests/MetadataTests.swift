import PDFDocument
import Testing

struct MetadataTests {
  private static func values(_ body: String) -> [Document.Entry: String] {
    let text = """
      <?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
      <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
      xmlns:a="http://ns.adobe.com/xap/1.0/" xmlns:p="http://ns.adobe.com/pdf/1.3/">\(body)</rdf:RDF></x:xmpmeta>
      """
    return Array(text.utf8).withUnsafeBytes { Metadata(xml: $0).values }
  }

  private static func description(_ body: String) -> [Document.Entry: String] {
    values("<rdf:Description>\(body)</rdf:Description>")
  }

  @Test func eachPropertyIsReadByItsNamespace() {
    let values = Self.values(
      """
      <rdf:Description p:Producer="P &amp; Q" a:CreatorTool="T"/>
      <rdf:Description><p:Keywords>a, b</p:Keywords><dc:title>T</dc:title><other:title xmlns:other="x">U</other:title>
      <a:ModifyDate>2024-03-01T10:00Z</a:ModifyDate></rdf:Description>
      """)
    let expected: [Document.Entry: String] = [
      .producer: "P & Q", .creator: "T", .keywords: "a, b", .title: "T", .modified: "2024-03-01T10:00Z",
    ]
    #expect(values == expected)
  }

  @Test func ofAlternativesTheDefaultCountsAndOfAListAll() {
    let items = "<rdf:li xml:lang='de'>Bericht</rdf:li><rdf:li xml:lang='x-default'>Report</rdf:li>"
    #expect(Self.description("<dc:title><rdf:Alt>\(items)</rdf:Alt></dc:title>")[.title] == "Report")
    let german = "<dc:title><rdf:Alt><rdf:li xml:lang='de'>Bericht</rdf:li></rdf:Alt></dc:title>"
    #expect(Self.description(german)[.title] == "Bericht")
    #expect(
      Self.description("<dc:creator><rdf:Seq>\(items)</rdf:Seq></dc:creator>")[.author] == "Bericht, Report")
    #expect(Self.description("<dc:title>1</dc:title><dc:title>2</dc:title>")[.title] == "1")
  }

  @Test(arguments: [
    "<dc:title>a</dc:title><dc:title>", "<dc:title>&unknown;</dc:title>", "<dc:title>a</dc:creator>",
    "<dc:title>\u{8}</dc:title>",
  ])
  func whatIsNotWellFormedIsLeftOut(_ body: String) {
    #expect(Self.description(body).isEmpty)
  }

  @Test func entitiesThatGrowAreNotExpanded() {
    var text = "<!DOCTYPE x [<!ENTITY a0 'aaaaaaaaaa'>"
    for level in 1...9 {
      let inner = String(repeating: "&a\(level - 1);", count: 10)
      text += "<!ENTITY a\(level) '\(inner)'>"
    }
    text += """
      ]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">
      <rdf:Description><dc:title>&a9;</dc:title></rdf:Description></rdf:RDF>
      """
    #expect(Array(text.utf8).withUnsafeBytes { Metadata(xml: $0).values }.isEmpty)
  }

  @Test func elementsNestedAHundredThousandDeepAreSurvived() {
    let deep = String(repeating: "<a>", count: 100_000) + String(repeating: "</a>", count: 100_000)
    #expect(Self.description("<dc:title>\(deep)</dc:title>").isEmpty)
  }
}
