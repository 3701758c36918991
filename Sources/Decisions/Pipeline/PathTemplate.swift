/// The path of an object, such as `documents/{conversationId}/{messageId}/document.{extension}`.
///
/// Every value that a sender can influence is escaped: the bytes `A-Z a-z 0-9 - _ .` stay, every other byte
/// and a leading `.` become `%` and two digits (RFC 3986, section 2.1), and a part is cut at 200 bytes. So no
/// value can name another folder, hide a file, or end the path early.
public struct PathTemplate: Sendable, Hashable, CustomStringConvertible {
  /// The names that may stand in braces.
  public static let placeholders = [
    "conversationId", "messageId", "attachmentId", "senderId", "fileName", "extension", "sha256", "type",
    "subtype",
  ]

  /// The longest path it may make, in bytes.
  public static let limit = 1024

  public let description: String
  private let parts: [Part]

  private enum Part: Hashable {
    case literal(String)
    case placeholder(String)
  }

  /// `nil` if ``problem(in:)`` reports a problem.
  public init?(_ text: String) {
    guard case .success(let parts) = Self.parse(text) else { return nil }
    description = text
    self.parts = parts
  }

  /// The problem with a template, as the end of a sentence; `nil`: none.
  public static func problem(in text: String) -> String? {
    if case .failure(let fault) = parse(text) { fault.text } else { nil }
  }

  /// Whether a path can be an object's: relative, no longer than ``limit``, without empty parts or parts that
  /// begin with `.`.
  public static func isPath(_ text: String) -> Bool {
    var previous = UInt8(ascii: "/")
    for byte in text.utf8 {
      if byte == 0 { return false }
      let beginsPart = previous == UInt8(ascii: "/")
      if beginsPart && (byte == UInt8(ascii: "/") || byte == UInt8(ascii: ".")) { return false }
      previous = byte
    }
    return previous != UInt8(ascii: "/") && text.utf8.count <= limit
  }

  private struct Fault: Error { var text: String }

  private static func parse(_ text: String) -> Result<[Part], Fault> {
    var parts: [Part] = []
    var rest = Substring(text)
    while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      guard rest[brace] == "{", let end = rest[brace...].firstIndex(of: "}") else {
        return .failure(Fault(text: "has a brace without its partner"))
      }
      if brace > rest.startIndex { parts.append(.literal(String(rest[..<brace]))) }
      let name = String(rest[rest.index(after: brace)..<end])
      guard placeholders.contains(name) else {
        return .failure(
          Fault(
            text: "knows no {\(name)}; there are \(placeholders.map { "{\($0)}" }.joined(separator: " "))"))
      }
      parts.append(.placeholder(name))
      rest = rest[rest.index(after: end)...]
    }
    if !rest.isEmpty { parts.append(.literal(String(rest))) }
    // Compare bytes, as the kernel does: to Swift, `/` with a combining mark after it is a different
    // character from `/`.
    let dot = UInt8(ascii: ".")
    let folders = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    if text.utf8.contains(0) { return .failure(Fault(text: "holds a NUL byte")) }
    if folders.contains(where: { $0.isEmpty || $0.elementsEqual([dot]) || $0.elementsEqual([dot, dot]) }) {
      return .failure(Fault(text: "has an empty, `.` or `..` part, or begins or ends with `/`"))
    }
    if folders.contains(where: { $0.first == dot }) {
      return .failure(Fault(text: "has a part that begins with `.`; such names are the store's own"))
    }
    return .success(parts)
  }

  /// The path with each placeholder's value escaped; `nil` if it is longer than ``limit``.
  public func path(_ value: (String) -> String) -> String? {
    var path = ""
    for part in parts {
      switch part {
      case .literal(let text): path += text
      case .placeholder(let name): path += Self.escaped(value(name))
      }
    }
    return path.utf8.count <= Self.limit ? path : nil
  }

  /// A value escaped as one safe part of a path; `_` for an empty one.
  public static func escaped(_ value: String) -> String {
    if value.isEmpty { return "_" }
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in value.utf8 {
      let plain =
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        case UInt8(ascii: "."): !bytes.isEmpty
        default: false
        }
      if plain {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
      if bytes.count >= 200 { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The file extension for objects of a media type: the usual one, or the subtype, or `bin`.
  public static func fileExtension(for mediaType: String?) -> String {
    guard let mediaType else { return "bin" }
    let known = [
      "application/pdf": "pdf", "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif",
      "image/webp": "webp",
      "image/svg+xml": "svg", "image/tiff": "tiff", "text/plain": "txt", "text/html": "html",
      "text/csv": "csv", "message/rfc822": "eml",
      "application/zip": "zip", "application/gzip": "gz", "application/json": "json",
      "application/octet-stream": "bin",
      "application/msword": "doc", "inode/x-empty": "bin",
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
      "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
      "application/vnd.ms-word.document.macroEnabled.12": "docm",
      "application/vnd.ms-excel.sheet.macroEnabled.12": "xlsm",
      "application/vnd.ms-powerpoint.presentation.macroEnabled.12": "pptm",
    ]
    if let known = known[mediaType] { return known }
    let subtype = mediaType.split(separator: "/").last.map(String.init) ?? "bin"
    let plain = subtype.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
    return plain && subtype.utf8.count <= 8 ? subtype : "bin"
  }
}
