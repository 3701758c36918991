import Foundation

/// Builds a PDF from its objects, with a table of their offsets (ISO 32000-1, 7.5).
struct HandmadePDF {
  /// The bodies of its objects, from number 1.
  private var objects: [Data] = []
  /// More entries for the trailer.
  var trailer = ""
  /// The number of table entries without an object.
  var spare = 0

  /// - Parameter objects: the first is the catalog.
  init(_ objects: String...) { self.objects = objects.map { Data($0.utf8) } }

  /// One page, whose content is in object 4; its resources are object 5, if there is one.
  static func page(_ more: String = "", catalog: String = "") -> HandmadePDF {
    HandmadePDF(
      "<< /Type /Catalog /Pages 2 0 R \(catalog) >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources 5 0 R \(more) >>")
  }

  static let font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"

  func adding(_ body: String) -> HandmadePDF { adding(Data(body.utf8)) }

  func adding(_ body: Data) -> HandmadePDF {
    var longer = self
    longer.objects.append(body)
    return longer
  }

  mutating func add(_ body: String) { objects.append(Data(body.utf8)) }

  func adding(stream data: Data, _ dictionary: String = "") -> HandmadePDF {
    adding(
      Data("<< /Length \(data.count) \(dictionary) >>\nstream\n".utf8) + data + Data("\nendstream".utf8))
  }

  func with(trailer: String) -> HandmadePDF {
    var other = self
    other.trailer = trailer
    return other
  }

  var data: Data {
    var data = Data("%PDF-1.7\n".utf8)
    var table = "0000000000 65535 f \n"
    for (index, body) in objects.enumerated() {
      let offset = String(data.count)
      table += String(repeating: "0", count: 10 - offset.count) + offset + " 00000 n \n"
      data += Data("\(index + 1) 0 obj\n".utf8) + body + Data("\nendobj\n".utf8)
    }
    let start = data.count
    table += String(repeating: "0000000000 00000 f \n", count: spare)
    return data
      + Data(
        """
        xref
        0 \(objects.count + 1 + spare)
        \(table)trailer
        << /Size \(objects.count + 1 + spare) /Root 1 0 R \(trailer) >>
        startxref
        \(start)
        %%EOF

        """.utf8)
  }
}
