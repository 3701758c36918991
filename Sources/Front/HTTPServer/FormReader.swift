import Glibc
import Platform

/// Takes a form apart as it comes: `multipart/form-data` (RFC 7578, RFC 2046).
///
/// What it holds in memory is bounded: the end of a piece that may be the beginning of a delimiter, and a part's header.
public struct FormReader {
  /// What a part is, by its header.
  public struct Part: Equatable, Sendable {
    public var name: String
    /// `nil`: it is a field, and not a file.
    public var fileName: String?
    public var contentType: String?
  }

  public enum Piece {
    case part(Part)
    /// Bytes of the part; valid only during the call.
    case bytes(UnsafeRawBufferPointer)
    case partEnded
  }

  /// The form breaks a rule.
  public struct Fault: Error, Equatable {
    /// For the client.
    public let reason: String

    public init(reason: String) { self.reason = reason }
  }

  private enum State {
    /// What comes before the first delimiter says nothing.
    case preamble
    /// The rest of a delimiter's line.
    case delimiter
    case header
    case body
    /// What comes after the last delimiter says nothing.
    case epilogue
  }

  private let delimiter: [UInt8]
  private var state = State.preamble
  /// The first delimiter may stand at the very beginning.
  private var held: [UInt8] = [0x0D, 0x0A]

  private static let headerLimit = 8 << 10
  private static let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]

  /// Whether the last delimiter has come.
  public var isWhole: Bool { state == .epilogue }

  /// - Parameter contentType: of the request; `nil` is returned where it says no boundary, or one that cannot be.
  public init?(contentType: String) {
    let parts = contentType.split(separator: ";", maxSplits: 1)
    guard parts.count == 2, parts[0].trimmed.lowercased() == "multipart/form-data",
      let boundary = Self.parameters(parts[1])["boundary"], (1...70).contains(boundary.utf8.count),
      boundary.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), boundary.last != " "
    else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
  }

  /// Takes the next bytes of the form.
  ///
  /// - Throws: ``Fault``, or what `tell` throws; nothing more is to be given then.
  public mutating func take(
    _ bytes: UnsafeRawBufferPointer, _ tell: (Piece) throws -> Void
  ) throws {
    if isWhole { return }
    held += bytes
    var start = 0
    while let next = try step(from: start, tell) { start = next }
    held.removeFirst(start)
  }

  /// - Returns: how much of what is held is done with; `nil`: more has to come first.
  private mutating func step(from start: Int, _ tell: (Piece) throws -> Void) throws -> Int? {
    switch state {
    case .preamble, .body:
      let place = Self.find(delimiter, in: held, from: start)
      // The last bytes may be the first of a delimiter.
      let end = place ?? max(held.count - delimiter.count + 1, start)
      if state == .body && end > start {
        try held.withUnsafeBytes { bytes in
          try tell(.bytes(UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
        }
      }
      guard let place else { return end > start ? end : nil }
      if state == .body { try tell(.partEnded) }
      state = .delimiter
      return place + delimiter.count
    case .delimiter:
      // White space may follow.
      var place = start
      while place < held.count, held[place] == 0x20 || held[place] == 0x09 { place += 1 }
      if place - start > Self.headerLimit { throw Fault(reason: "a delimiter has no end") }
      guard place + 2 <= held.count else { return nil }
      switch (held[place], held[place + 1]) {
      case (0x0D, 0x0A): state = .header
      case (0x2D, 0x2D) where place == start:
        state = .epilogue
        return nil
      default: throw Fault(reason: "a delimiter goes on where its line ends")
      }
      // The end of this line is the beginning of an empty header's.
      return place
    case .header:
      guard let end = Self.find(Self.end, in: held, from: start), end - start <= Self.headerLimit else {
        if held.count - start > Self.headerLimit { throw Fault(reason: "a part's header is too long") }
        return nil
      }
      let text = String(decoding: held[start..<end], as: UTF8.self)
      try tell(.part(try Self.part(text)))
      state = .body
      return end + Self.end.count
    case .epilogue: return nil
    }
  }

  private static func find(_ wanted: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let first = wanted.first else { return nil }
      var place = start
      while place + wanted.count <= bytes.count,
        let found = memchr(base + place, Int32(first), bytes.count - wanted.count + 1 - place)
      {
        place = UnsafeRawPointer(found) - base
        if memcmp(base + place, wanted, wanted.count) == 0 { return place }
        place += 1
      }
      return nil
    }
  }

  // MARK: Headers

  private static func part(_ header: String) throws -> Part {
    var part: Part?
    var contentType: String?
    for line in header.split(separator: "\r\n") {
      guard let colon = line.firstIndex(of: ":") else { throw Fault(reason: "a part's header has no colon") }
      let value = line[line.index(after: colon)...].trimmed
      switch line[..<colon].lowercased() {
      case "content-disposition":
        let kinds = value.split(separator: ";", maxSplits: 1)
        let parameters = kinds.count == 2 ? parameters(kinds[1]) : [:]
        guard part == nil, kinds.first?.trimmed.lowercased() == "form-data", let name = parameters["name"]
        else {
          throw Fault(reason: "a part of a form says 'Content-Disposition: form-data; name=…', once")
        }
        let extended = try parameters["filename*"].map(extendedName)
        part = Part(name: name, fileName: extended ?? parameters["filename"])
      case "content-type": contentType = String(value)
      case "content-transfer-encoding" where !["binary", "8bit", "7bit"].contains(value.lowercased()):
        throw Fault(reason: "the parts of a form are sent as they are (RFC 7578, 4.7)")
      default: break
      }
    }
    guard var part else { throw Fault(reason: "a part of a form has no name") }
    part.contentType = contentType
    return part
  }

  /// `UTF-8''%C3%A4.pdf` (RFC 8187, section 3.2.1). Forms should not have it (RFC 7578, section 4.2), and some clients write it.
  private static func extendedName(_ text: String) throws -> String {
    let pieces = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard pieces.count == 3, pieces[0].lowercased() == "utf-8",
      let name = try? RequestTarget.decoded(String(pieces[2]).utf8.span, isForm: false)
    else { throw Fault(reason: "a part's 'filename*' is no UTF-8 (RFC 8187, 3.2.1)") }
    return name
  }

  /// `name=value; name="value"`. In quotes, `\"`, `\\` and, as browsers write it, `%22` stand for one character.
  private static func parameters(_ text: Substring) -> [String: String] {
    var values: [String: String] = [:]
    var rest = text
    while true {
      rest = rest.drop { $0 == ";" || $0 == " " || $0 == "\t" }
      guard let equals = rest.firstIndex(of: "=") else { return values }
      let name = rest[..<equals].trimmed.lowercased()
      rest = rest[rest.index(after: equals)...]
      var value = ""
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while let character = rest.popFirst(), character != "\"" {
          if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
            value.append(rest.removeFirst())
          } else {
            value.append(character)
          }
        }
        while let quote = value.firstRange(of: "%22") { value.replaceSubrange(quote, with: "\"") }
      } else {
        let end = rest.firstIndex(of: ";") ?? rest.endIndex
        value = String(rest[..<end].trimmed)
        rest = rest[end...]
      }
      // Of two with one name the first counts.
      if values[name] == nil { values[name] = value }
    }
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
    return text
  }
}
