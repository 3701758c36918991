/// A part of a field with addresses (RFC 5322, section 3.2). Its bytes are as they are written.
enum AddressToken: Equatable {
  case atom([UInt8])
  /// With its quotation marks.
  case quoted([UInt8])
  /// An address of the network in the place of a domain, with its brackets.
  case literal([UInt8])
  case special(Unicode.Scalar)
  /// What is in no address.
  case malformed

  /// As a word of what is before the `@`; `nil`: it is none.
  var localBytes: [UInt8]? {
    switch self {
    case .atom(let bytes), .quoted(let bytes): bytes
    case .literal, .special, .malformed: nil
    }
  }

  /// As a part of a domain; `nil`: it is none.
  var domainBytes: [UInt8]? {
    guard case .atom(let bytes) = self, bytes.first != Self.hyphen, bytes.last != Self.hyphen else {
      return nil
    }
    let isName = bytes.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF, Self.hyphen, UInt8(ascii: "_"): true
      default: false
      }
    }
    return isName ? bytes : nil
  }

  private static let hyphen = UInt8(ascii: "-")
}

/// Takes a field with addresses apart. Comments and blanks are left out.
struct AddressTokens: IteratorProtocol {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  private static let backslash = UInt8(ascii: "\\")

  mutating func next() -> AddressToken? {
    while place < bytes.count {
      let byte = bytes[place]
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"): place += 1
      case UInt8(ascii: "("): if !skipComment() { return .malformed }
      case UInt8(ascii: "\""): return quoted()
      case UInt8(ascii: "["): return literal()
      case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: ";"),
        UInt8(ascii: ":"), UInt8(ascii: "."):
        place += 1
        return .special(Unicode.Scalar(byte))
      case let byte where Self.isAtomic(byte):
        let start = place
        while place < bytes.count, Self.isAtomic(bytes[place]) { place += 1 }
        return .atom(Array(bytes[start..<place]))
      default:
        place += 1
        return .malformed
      }
    }
    return nil
  }

  /// Skips a comment, with those in it. False: it has no end.
  private mutating func skipComment() -> Bool {
    var depth = 0
    while place < bytes.count {
      let byte = bytes[place]
      place += byte == Self.backslash ? 2 : 1
      if byte == UInt8(ascii: "(") { depth += 1 }
      if byte == UInt8(ascii: ")") { depth -= 1 }
      if depth == 0 { return true }
    }
    return false
  }

  private mutating func quoted() -> AddressToken {
    let start = place
    place += 1
    while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
      place += bytes[place] == Self.backslash ? 2 : 1
    }
    if place >= bytes.count { return .malformed }
    place += 1
    let text = bytes[start..<place]
    return text.contains { $0 < 0x20 || $0 == 0x7F } ? .malformed : .quoted(Array(text))
  }

  private mutating func literal() -> AddressToken {
    let start = place
    place += 1
    while place < bytes.count, Self.isOfLiteral(bytes[place]) { place += 1 }
    if place >= bytes.count || bytes[place] != UInt8(ascii: "]") || place == start + 1 { return .malformed }
    place += 1
    return .literal(Array(bytes[start..<place]))
  }

  /// Whether a byte is of an address literal (RFC 5321, 4.1.3).
  private static func isOfLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: ".:-".utf8.contains(byte)
    }
  }

  /// Whether a byte is of an atom: `atext`, and what is beyond ASCII (RFC 6532).
  private static func isAtomic(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: true
    default: "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }
  }
}
