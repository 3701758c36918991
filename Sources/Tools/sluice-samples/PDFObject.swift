/// The basic types of object: ISO 32000-1 clause 7.3.
enum PDFObject: Sendable {
  /// Entries keep their order, so that the same document is the same bytes.
  typealias Entries = [(key: String, value: PDFObject)]

  case null
  case integer(Int)
  /// Of regular characters only, which need no escape (7.3.5).
  case name(String)
  case string([UInt8])
  case array([PDFObject])
  case dictionary(Entries)
  case stream(Entries, [UInt8])
  case reference(PDFReference)
}

/// An indirect object's number; every generation here is 0 (7.3.10).
struct PDFReference: Sendable {
  let number: Int
}

extension PDFObject {
  /// A text string (7.9.2.2): ASCII as it is, anything else in UTF-16BE behind a byte order mark.
  static func text(_ text: String) -> PDFObject {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return .string(Array(text.utf8)) }
    var bytes: [UInt8] = [0xFE, 0xFF]
    for unit in text.utf16 {
      bytes.append(bigEndian: unit)
    }
    return .string(bytes)
  }

  /// The sides of a page or of a field, in points (7.9.5).
  static func rectangle(_ left: Int, _ bottom: Int, _ right: Int, _ top: Int) -> PDFObject {
    [.integer(left), .integer(bottom), .integer(right), .integer(top)]
  }

  /// Writes the object as it stands in a file; strings and streams go through `encrypt` (7.6.1).
  func write(to bytes: inout [UInt8], encrypt: ([UInt8]) -> [UInt8]) {
    switch self {
    case .null: bytes.append(ascii: "null")
    case .integer(let number): bytes.append(ascii: String(number))
    case .name(let name): bytes.append(ascii: "/" + name)
    case .reference(let reference): bytes.append(ascii: "\(reference.number) 0 R")
    case .string(let string): Self.write(string: encrypt(string), to: &bytes)
    case .array(let elements):
      bytes.append(ascii: "[ ")
      for element in elements {
        element.write(to: &bytes, encrypt: encrypt)
        bytes.append(ascii: " ")
      }
      bytes.append(ascii: "]")
    case .dictionary(let entries):
      bytes.append(ascii: "<< ")
      for (key, value) in entries {
        bytes.append(ascii: "/\(key) ")
        value.write(to: &bytes, encrypt: encrypt)
        bytes.append(ascii: " ")
      }
      bytes.append(ascii: ">>")
    case .stream(let entries, let content):
      let content = encrypt(content)
      PDFObject.dictionary(entries + [("Length", .integer(content.count))]).write(
        to: &bytes, encrypt: encrypt)
      bytes.append(ascii: "\nstream\n")
      bytes += content
      bytes.append(ascii: "\nendstream")
    }
  }

  /// In parentheses where it is readable (7.3.4.2), else in hexadecimal (7.3.4.3).
  private static func write(string: [UInt8], to bytes: inout [UInt8]) {
    if string.allSatisfy({ (0x20..<0x7F).contains($0) }) {
      bytes.append(ascii: "(")
      for byte in string {
        if #"()\"#.utf8.contains(byte) { bytes.append(ascii: #"\"#) }
        bytes.append(byte)
      }
      bytes.append(ascii: ")")
    } else {
      bytes.append(ascii: "<")
      for byte in string {
        bytes.append(ascii: (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: true))
      }
      bytes.append(ascii: ">")
    }
  }
}

extension PDFObject: ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  init(integerLiteral value: Int) { self = .integer(value) }
  init(arrayLiteral elements: PDFObject...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, PDFObject)...) {
    self = .dictionary(elements.map { (key: $0, value: $1) })
  }
}
