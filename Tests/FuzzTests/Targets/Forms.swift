import HTTPServer

@testable import Identity

extension FuzzTarget {
  /// The body of a form. The first byte says in how large pieces it comes.
  static let forms = FuzzTarget(name: "forms") { bytes in
    guard let size = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let whole = read(rest, inPiecesOf: max(rest.count, 1))
    let split = read(rest, inPiecesOf: Int(size) + 1)
    // What came before a fault may have been passed on in pieces.
    try demand(
      whole.isFault == split.isFault && whole.isWhole == split.isWhole, "pieces make another form of it")
    if whole.isFault { return }
    try demand(
      whole.parts == split.parts && whole.contents == split.contents, "pieces make other parts of it")
    for content in whole.contents {
      try demand(content.count <= rest.count, "a part of \(content.count) bytes in a form of \(rest.count)")
    }
  }

  private struct Found {
    var parts: [FormReader.Part] = []
    var contents: [[UInt8]] = []
    var (isWhole, isFault) = (false, false)
  }

  private static func read(_ bytes: [UInt8], inPiecesOf size: Int) -> Found {
    var found = Found()
    guard var reader = FormReader(contentType: "multipart/form-data; boundary=b") else { return found }
    do {
      for start in stride(from: 0, to: bytes.count, by: size) {
        try Array(bytes[start..<min(start + size, bytes.count)]).withUnsafeBytes { piece in
          try reader.take(piece) { piece in
            switch piece {
            case .part(let part):
              found.parts.append(part)
              found.contents.append([])
            case .bytes(let bytes): found.contents[found.contents.count - 1] += bytes
            case .partEnded: break
            }
          }
        }
      }
    } catch {
      found.isFault = true
    }
    found.isWhole = reader.isWhole
    return found
  }

  /// A file of keys for tokens, and a token: the first line, and the second.
  static let tokens = FuzzTarget(name: "tokens") { bytes in
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    if let first = lines.first { _ = try? JSONWebKey.read(text(first)) }
    guard lines.count == 2 else { return }
    let token = text(lines[1])
    for part in token.split(separator: ".") {
      guard let bytes = Base64URL.bytes(String(part)) else { continue }
      try demand(
        bytes.count == part.utf8.count * 3 / 4, "\(bytes.count) bytes of \(part.utf8.count) letters")
    }
  }
}
