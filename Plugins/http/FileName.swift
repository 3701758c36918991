import Outbound

/// The name that a server gives to a file: the parameter `filename*` or `filename` of `Content-Disposition` (RFC 6266). It is
/// hostile, and comes out cleaned: no controls, no separators, at most 255 bytes, never `.` or `..`.
///
/// Without one, the last segment of the link's path is the name, as `curl -O` has it, if it ends in an extension. The rest of
/// a link is secret, and a segment without an extension is often a part of that.
enum FileName {
  static let limit = 255
  private static let longestExtension = 10

  static func of(_ head: AnswerHead) -> String? {
    guard let values = head.fields["content-disposition"], values.count == 1 else { return nil }
    return read(values[0])
  }

  static func of(_ link: WebURL) -> String? {
    let rest = link.text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard
      let segment = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst(3)
        .last,
      let name = decoded(Array(segment)[...]).flatMap({ clean(text($0)) }),
      let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex
    else { return nil }
    let suffix = name[dot...].utf8.dropFirst()
    return (1...longestExtension).contains(suffix.count) && suffix.allSatisfy(isLetterOrDigit) ? name : nil
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x41...0x5A ~= byte & 0xDF
  }

  static func read(_ value: [UInt8]) -> String? {
    var plain: [UInt8]?
    for (name, text) in parameters(value) {
      if name == "filename*", let decoded = extended(text), let name = clean(decoded) { return name }
      if name == "filename", plain == nil { plain = text }
    }
    return plain.flatMap { clean(Self.text($0)) }
  }

  /// Name, in lower case, and value of each parameter.
  private static func parameters(_ value: [UInt8]) -> [(String, [UInt8])] {
    var rest = value[...]
    var parameters: [(String, [UInt8])] = []
    // The disposition itself.
    rest = rest.drop { $0 != UInt8(ascii: ";") }
    while rest.first == UInt8(ascii: ";"), parameters.count < 16 {
      rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
      let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
      rest = rest.dropFirst(name.count)
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
      let text = rest.first == 0x22 ? quoted(&rest) : token(&rest)
      rest = rest.drop { $0 != UInt8(ascii: ";") }
      parameters.append(
        (String(decoding: name, as: UTF8.self).lowercased().filter { $0 != " " && $0 != "\t" }, text))
    }
    return parameters
  }

  private static func token(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    let text = rest.prefix { $0 != UInt8(ascii: ";") }
    rest = rest.dropFirst(text.count)
    return Array(text)
  }

  /// A quoted string; a backslash takes the byte after it as it is.
  private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    rest = rest.dropFirst()
    var text: [UInt8] = []
    while let byte = rest.popFirst(), byte != 0x22 {
      if byte == UInt8(ascii: "\\"), let next = rest.popFirst() {
        text.append(next)
      } else {
        text.append(byte)
      }
    }
    return text
  }

  /// `UTF-8'en'%e2%82%ac` (RFC 8187).
  private static func extended(_ value: [UInt8]) -> String? {
    let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = decoded(parts[2]) else { return nil }
    switch String(decoding: parts[0], as: UTF8.self).lowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1": return latin(bytes)
    default: return nil
    }
  }

  /// `nil`: a percent sign begins no byte.
  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
  }

  /// UTF-8 where it is valid, else what RFC 9110 once said of headers: ISO-8859-1.
  private static func text(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self) ?? latin(bytes)
  }

  private static func latin(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
  }

  private static func clean(_ text: String) -> String? {
    var name = ""
    var count = 0
    for scalar in text.unicodeScalars {
      let kept: UnicodeScalar
      switch scalar.properties.generalCategory {
      // What turns the direction of writing or cannot be seen is of the category `format`.
      case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
        continue
      default: kept = scalar == "/" || scalar == "\\" ? "_" : scalar
      }
      let length = UTF8.width(kept)
      if count + length > limit { break }
      name.unicodeScalars.append(kept)
      count += length
    }
    while name.first == " " { name.removeFirst() }
    while name.last == " " { name.removeLast() }
    return name.isEmpty || name == "." || name == ".." ? nil : name
  }
}
