import Foundation

extension Bomb {
  /// Content that refers to itself, and content that takes long.
  static let circular: [Bomb] = [
    Bomb("pages that are their own kids", "bomb.pdf", "pdf-damaged", nil) {
      HandmadePDF(
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 /Parent 2 0 R >>"
      ).data
    },
    Bomb("a catalog that is its own pages", "bomb.pdf", "pdf-damaged") {
      HandmadePDF("<< /Type /Catalog /Pages 1 0 R /Kids [1 0 R] /Count 1 /Parent 1 0 R >>").data
    },
    Bomb("a page that inherits from itself", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF(
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 3 0 R >>",
        "<< /Type /Page /Parent 2 0 R >>"
      ).data
    },
    Bomb("a length that is its own stream", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF.page().adding("<< /Length 4 0 R >>\nstream\n0 0 m\nendstream").adding(HandmadePDF.font).data
    },
    Bomb("a filter that is its own stream", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF.page().adding("<< /Length 5 /Filter 4 0 R /DecodeParms 4 0 R >>\nstream\n0 0 m\nendstream")
        .adding(HandmadePDF.font).data
    },
    Bomb("a table that names itself", "bomb.pdf", nil, "pdf-damaged") {
      let pdf = HandmadePDF.page().adding(stream: Data()).adding(HandmadePDF.font)
      let text = String(decoding: pdf.data, as: UTF8.self)
      let start = text.components(separatedBy: "startxref\n")[1].prefix { $0.isNumber }
      return pdf.with(trailer: "/Prev \(start) /XRefStm \(start)").data
    },
    Bomb("an object that is itself", "bomb.pdf", nil, "pdf-damaged") {
      HandmadePDF.page(catalog: "/Names 6 0 R /AcroForm 6 0 R /Outlines 6 0 R").adding(stream: Data())
        .adding(HandmadePDF.font).adding("6 0 R").with(trailer: "/Info 6 0 R").data
    },
    Bomb("names, fields, outlines and annotations in a ring", "bomb.pdf", nil, "timed-out") {
      HandmadePDF.page(
        "/Annots [6 0 R 6 0 R]",
        catalog: "/Names << /EmbeddedFiles 6 0 R /JavaScript 6 0 R >> /AcroForm << /Fields [6 0 R] >> "
          + "/Outlines 6 0 R"
      ).adding(stream: Data()).adding(HandmadePDF.font).adding(
        "<< /Kids [6 0 R 6 0 R] /Parent 6 0 R /First 6 0 R /Last 6 0 R /Next 6 0 R /Prev 6 0 R /Subtype /Widget "
          + "/A << /S /JavaScript /JS 6 0 R /Next 6 0 R >> >>"
      ).data
    },
    Bomb("a form that draws itself twice", "bomb.pdf", nil, "timed-out") {
      HandmadePDF.page().adding(stream: Data("/X Do".utf8)).adding("<< /XObject << /X 6 0 R >> >>")
        .adding(
          stream: Data("/X Do /X Do".utf8),
          "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources 5 0 R"
        ).data
    },
    Bomb("a glyph that shows itself", "bomb.pdf", nil, "timed-out") {
      HandmadePDF.page().adding(stream: Data("BT /F 9 Tf (aaaa) Tj ET".utf8)).adding(
        "<< /Font << /F 6 0 R >> >>"
      )
      .adding(
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] /CharProcs << /a 7 0 R >> "
          + "/Encoding << /Differences [97 /a] >> /FirstChar 97 /LastChar 97 /Widths [9] /Resources 5 0 R >>"
      )
      .adding(stream: Data("9 0 d0 BT /F 9 Tf (aaaa) Tj ET".utf8)).data
    },
    // An object stream inside an object stream: itself.
    Bomb("objects inside themselves", "bomb.pdf", "pdf-damaged", nil) {
      var data = Data("%PDF-1.7\n".utf8)
      let first = data.count
      data += Data(
        "1 0 obj << /Type /ObjStm /N 2 /First 8 /Length 24 /Extends 1 0 R >>\nstream\n1 0 2 1 1 0 R << >>\nendstream endobj\n"
          .utf8)
      let start = data.count
      let rows: [UInt8] = [0, 0, 0, 255, 2, 0, 1, 0, 2, 0, 1, 1, 1, UInt8(start >> 8), UInt8(start & 255), 0]
      data += Data(
        "3 0 obj << /Type /XRef /W [1 2 1] /Size 4 /Root 2 0 R /Prev \(first) /Length 16 >>\nstream\n".utf8)
      return data + Data(rows) + Data("\nendstream endobj\nstartxref\n\(start)\n%%EOF\n".utf8)
    },
  ]

  static let slow: [Bomb] = [
    // poppler searches for the end of each, in quadratic time (ISO 32000-1 has no such thing).
    Bomb("twelve thousand trailers", "bomb.pdf", "timed-out", "flooded") {
      Data(("%PDF-1.4\n" + String(repeating: "trailer[\n", count: 12_000)).utf8)
    },
    Bomb("sixty forms, each drawing the next twice", "bomb.pdf", "timed-out") {
      let forms = (0..<60).map { "/X\($0) \($0 + 6) 0 R" }.joined(separator: " ")
      var pdf = HandmadePDF.page().adding(stream: Data("/X0 Do".utf8)).adding(
        "<< /XObject << \(forms) >> >>")
      for next in 1...60 {
        pdf = pdf.adding(
          stream: Data("/X\(next) Do /X\(next) Do".utf8),
          "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources 5 0 R")
      }
      return pdf.data
    },
  ]
}
