import Foundation
import Testing

/// Content that takes excessive resources, and its expected outcome.
struct Bomb: Sendable, CustomTestStringConvertible {
  var name: String
  var file: String
  /// The allowed reason codes, because versions of libraries differ. `nil`: it is completed.
  var codes: Set<String?>
  var make: @Sendable () throws -> Data

  init(
    _ name: String, _ file: String = "bomb.pdf", _ codes: String?...,
    make: @escaping @Sendable () throws -> Data
  ) {
    self.name = name
    self.file = file
    self.codes = Set(codes)
    self.make = make
  }

  var testDescription: String { name }

  private static let many = 100_000

  private static func repeated(_ text: String, _ count: Int = many) -> String {
    String(repeating: text, count: count)
  }

  private static func inflating(_ pattern: String, _ gigabytes: Int, layers: Int) -> Data {
    let filters = repeated("/FlateDecode ", layers)
    return HandmadePDF.page().adding(
      stream: Deflate.bomb(pattern, inflatesTo: gigabytes << 30, layers: layers), "/Filter [\(filters)]"
    ).adding(HandmadePDF.font).data
  }

  static let inflating: [Bomb] = [
    Bomb("4 GB of nothing", "bomb.pdf", "timed-out") { inflating("\0", 4, layers: 1) },
    Bomb("64 GB of nothing, packed three times", "bomb.pdf", "timed-out") {
      inflating("\0", 64, layers: 3)
    },
    Bomb("graphics states without end", "bomb.pdf", "timed-out", "out-of-memory") {
      inflating("q ", 2, layers: 2)
    },
    Bomb("text without end", "bomb.pdf", "timed-out", "out-of-memory") {
      inflating("BT /F 9 Tf (A) Tj ET ", 2, layers: 2)
    },
    Bomb("a string without end", "bomb.pdf", "timed-out", "out-of-memory") { inflating("(", 2, layers: 2) },
    Bomb("a cross-reference stream of 2 GB", "bomb.pdf", "pdf-damaged", "timed-out", "out-of-memory") {
      var data = Data("%PDF-1.7\n".utf8)
      let start = data.count
      let stream = Deflate.bomb("\u{1}\0\0\0", inflatesTo: 2 << 30, layers: 2)
      data += Data(
        "1 0 obj << /Type /XRef /W [1 2 1] /Size 2147483647 /Root 2 0 R /Length \(stream.count) ".utf8)
      data += Data("/Filter [/FlateDecode /FlateDecode] >>\nstream\n".utf8) + stream
      return data + Data("\nendstream endobj\nstartxref\n\(start)\n%%EOF\n".utf8)
    },
    Bomb("a row of two milliard columns", "bomb.pdf", nil) {
      HandmadePDF.page().adding(
        stream: Deflate.bomb("A", inflatesTo: 1 << 20),
        "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2147483647 /Colors 32 "
          + "/BitsPerComponent 16 >>"
      ).adding(HandmadePDF.font).data
    },
    Bomb("ten thousand filters", "bomb.pdf", nil, "pdf-damaged", "crashed", "timed-out", "out-of-memory") {
      HandmadePDF.page().adding(
        stream: Data("41>".utf8), "/Filter [\(repeated("/ASCIIHexDecode ", 10_000))]"
      ).adding(HandmadePDF.font).data
    },
  ]

  static let counting: [Bomb] = [
    // Claims are not believed.
    Bomb("a claim of a million pages", "bomb.pdf", nil) { claim("1000000") },
    Bomb("a claim of a million pages, with as many objects", "bomb.pdf", nil) {
      claim("1000000", spare: 1_000_000)
    },
    Bomb("a claim of ten milliard pages", "bomb.pdf", nil) { claim("9999999999") },
    Bomb("a claim of fewer pages than none", "bomb.pdf", nil) { claim("-1000000") },
    Bomb("a hundred thousand pages", "bomb.pdf", "too-many-pages") {
      let kids = (0..<many).map { "\($0 + 3) 0 R" }.joined(separator: " ")
      var pdf = HandmadePDF(
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [\(kids)] /Count \(many) >>")
      for _ in 0..<many { pdf.add("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>") }
      return pdf.data
    },
    Bomb("a title of twenty megabytes", "bomb.pdf", nil, "timed-out") {
      HandmadePDF.page().adding(stream: Data()).adding(HandmadePDF.font)
        .adding("<< /Title (\(repeated("title ", 20 << 20 / 6))) >>").with(trailer: "/Info 6 0 R").data
    },
    Bomb("a hundred thousand tables, each naming the one before", "bomb.pdf", nil, "pdf-damaged", "timed-out")
    {
      var data = HandmadePDF.page().adding(stream: Data()).adding(HandmadePDF.font).data
      var last = 0
      for _ in 0..<many {
        let start = data.count
        data += Data(
          "xref\n0 0\ntrailer\n<< /Size 6 /Root 1 0 R /Prev \(last) >>\nstartxref\n\(start)\n%%EOF\n".utf8)
        last = start
      }
      return data
    },
  ]

  private static func claim(_ count: String, spare: Int = 0) -> Data {
    var pdf = HandmadePDF(
      "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count \(count) >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>")
    pdf.spare = spare
    return pdf.data
  }

  static let nested: [Bomb] = [
    Bomb("arrays in arrays", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF.page(catalog: "/X \(repeated("["))\(repeated("]"))").adding(stream: Data())
        .adding(HandmadePDF.font).data
    },
    Bomb("dictionaries in dictionaries", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF.page(catalog: "/X \(repeated("<< /X "))\(repeated(">> "))").adding(stream: Data())
        .adding(HandmadePDF.font).data
    },
    Bomb("arrays that never end", "bomb.pdf", "pdf-damaged", "timed-out") {
      Data("%PDF-1.7\n1 0 obj \(repeated("["))".utf8)
    },
    Bomb("parentheses in parentheses", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF.page(catalog: "/X \(repeated("("))\(repeated(")"))").adding(stream: Data())
        .adding(HandmadePDF.font).data
    },
    Bomb("a page tree a hundred thousand deep", "bomb.pdf", nil, "pdf-damaged", "crashed", "timed-out") {
      var pdf = HandmadePDF("<< /Type /Catalog /Pages 2 0 R >>")
      for level in 0..<many {
        pdf.add("<< /Type /Pages /Parent \(level + 1) 0 R /Kids [\(level + 3) 0 R] /Count 1 >>")
      }
      return pdf.adding("<< /Type /Page /Parent \(many + 1) 0 R /MediaBox [0 0 9 9] >>").data
    },
    Bomb("a tree of names a hundred thousand deep", "bomb.pdf", nil, "crashed", "timed-out") {
      var pdf = HandmadePDF.page(catalog: "/Names << /EmbeddedFiles 6 0 R >>").adding(stream: Data())
        .adding(HandmadePDF.font)
      for level in 0..<many { pdf.add("<< /Kids [\(level + 7) 0 R] >>") }
      return pdf.adding("<< /Names [] >>").data
    },
    Bomb("operators in operators", "bomb.pdf", nil) {
      HandmadePDF.page().adding(stream: Data("\(repeated("q BT "))\(repeated("[ << "))".utf8))
        .adding(HandmadePDF.font).data
    },
  ]
}
