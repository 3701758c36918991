import CGMime
import StageKit

/// Fields of a part that programs read in different ways, so that one shows what another hides.
enum FieldCheck {
  static func check(_ fields: [Field]) throws(Outcome) {
    for field in fields {
      if hasLoneReturn(field.value) { throw loneReturn }
      if field.isCalled("Content-Type"), let fault = fault(ofType: field.value) {
        throw .reject("damaged", "the type of a part of it \(fault)")
      }
    }
  }

  /// Checks the header that begins at a place: all lines are fields, and the empty one behind them ends for all programs.
  static func check(headerAt start: Int, of mail: UnsafeRawBufferPointer) throws(Outcome) {
    for line in Lines(mail, from: start) {
      if line.isEmpty || line.elementsEqual([0x0D]) { return }
      if hasLoneReturn(Array(line) + [0x0A]) { throw loneReturn }
      if line.first != 0x20, line.first != 0x09, !MailStart.isField(line) {
        throw .reject(
          "damaged", "a line in a header of it is no field, where some programs see the end of the header")
      }
    }
  }

  /// Checks the header of a part, which begins behind the boundary.
  static func check(
    headerOf part: UnsafeMutablePointer<GMimeObject>, in mail: UnsafeRawBufferPointer
  ) throws(Outcome) {
    let start = Int(sluice_first_offset(part))
    guard 1..<mail.count ~= start else { return }
    let before = mail[..<(start - 1)].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    try check(headerAt: mail[before...].starts(with: [0x2D, 0x2D]) ? start : before, of: mail)
  }

  static var loneReturn: Outcome {
    .reject("damaged", "it has lines that end with CR alone, which not all programs take for an end")
  }

  /// Whether a line ends with CR alone, and more follows. CR CR LF is what some servers make of CR LF.
  private static func hasLoneReturn(_ value: [UInt8]) -> Bool {
    value.indices.dropLast().contains { value[$0] == 0x0D && ![0x0A, 0x0D].contains(value[$0 + 1]) }
  }

  /// What is wrong with the value of `Content-Type`; `nil`: all read it in the same way, or find no parts by it.
  static func fault(ofType value: [UInt8]) -> String? {
    let bare = withoutQuotes(value)
    if !isType(bare), ["multipart", "message", "boundary", "=?"].contains(where: { has($0, in: bare) }) {
      return "is not written as it should be, and may have parts"
    }
    if hasSpacedBoundary(bare) { return "has a boundary with white space and no quotes" }
    return boundaries(in: bare) > 1 ? "names more than one boundary" : nil
  }

  /// Whether more follows the boundary than the end of its parameter: to some programs it is part of it.
  private static func hasSpacedBoundary(_ value: [UInt8]) -> Bool {
    func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D, 0x0A].contains(byte) }
    return parameters(of: value).contains { name, value in
      name == "boundary" && value.first != UInt8(ascii: "\"")
        && !value.drop { !isSpace($0) }.allSatisfy(isSpace)
    }
  }

  /// `type/subtype`, and then parameters or nothing (RFC 2045, section 5.1).
  private static func isType(_ value: [UInt8]) -> Bool {
    func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D, 0x0A].contains(byte) }
    func isToken(_ byte: UInt8) -> Bool {
      byte > 0x20 && byte < 0x7F && !"()<>@,;:\"/[]?=".utf8.contains(byte)
    }
    let type = value.drop(while: isSpace)
    let main = type.prefix(while: isToken)
    let rest = type.dropFirst(main.count)
    guard !main.isEmpty, rest.first == UInt8(ascii: "/") else { return false }
    let sub = rest.dropFirst().prefix(while: isToken)
    let next = rest.dropFirst(1 + sub.count).drop(while: isSpace).first
    return !sub.isEmpty && (next == nil || next == UInt8(ascii: ";") || next == UInt8(ascii: "("))
  }

  /// How many values its boundary has: as it is, with a charset, or in pieces (RFC 2231), each of which counts once.
  private static func boundaries(in value: [UInt8]) -> Int {
    var (plain, extended, isInPieces) = (0, 0, false)
    for (name, _) in parameters(of: value) {
      switch name {
      case "boundary": plain += 1
      case "boundary*": extended += 1
      case _ where name.hasPrefix("boundary*"): isInPieces = true
      default: break
      }
    }
    return plain + extended + (isInPieces ? 1 : 0)
  }

  /// Name and value of each parameter, without white space around them.
  private static func parameters(of value: [UInt8]) -> [(name: String, value: ArraySlice<UInt8>)] {
    value.split(separator: UInt8(ascii: ";")).dropFirst().compactMap { parameter in
      guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let name = String(decoding: parameter[..<equals], as: UTF8.self).lowercased()
        .filter { !$0.isWhitespace }
      return (name, parameter[(equals + 1)...].drop { [0x20, 0x09, 0x0D, 0x0A].contains($0) })
    }
  }

  /// The value with nothing in its quotes.
  private static func withoutQuotes(_ value: [UInt8]) -> [UInt8] {
    var kept: [UInt8] = []
    var (isQuoted, isEscaped) = (false, false)
    for byte in value {
      if isEscaped {
        isEscaped = false
      } else if isQuoted && byte == 0x5C {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
        kept.append(byte)
      } else if !isQuoted {
        kept.append(byte)
      }
    }
    return kept
  }

  private static func has(_ word: String, in value: [UInt8]) -> Bool {
    let (value, word) = (
      value.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, Array(word.utf8)
    )
    return sluice_contains(value, value.count, word, word.count) != 0
  }
}
