import CGMime
import Charsets

/// The parameters of `Content-Type` and `Content-Disposition`, with their charsets and in their pieces (RFC 2231), or as programs
/// write them: as encoded words, in quotation marks too.
struct Parameters {
  private let values: [(name: String, value: [UInt8])]
  private let words: EncodedWords

  init(_ field: [UInt8], _ words: EncodedWords) {
    self.words = words
    values = Self.split(EncodedWords.unfolded(field))
  }

  /// A parameter's text; `nil`: it is not there.
  func text(_ name: String) -> String? {
    var pieces: [Int: (bytes: [UInt8], isEncoded: Bool)] = [:]
    for (key, value) in values where key.hasPrefix(name + "*") {
      let rest = key.dropFirst(name.count + 1)
      let isEncoded = rest.isEmpty || rest.hasSuffix("*")
      guard let number = rest.isEmpty ? 0 : Int(isEncoded ? rest.dropLast() : rest), pieces[number] == nil
      else { continue }
      pieces[number] = (value, isEncoded)
    }
    if let first = pieces[0] { return joined(first, pieces) }
    return values.first { $0.name == name }.map { words.decoded($0.value) }
  }

  private func joined(
    _ first: (bytes: [UInt8], isEncoded: Bool), _ pieces: [Int: (bytes: [UInt8], isEncoded: Bool)]
  ) -> String {
    let quote = UInt8(ascii: "'")
    let parts = first.bytes.split(separator: quote, maxSplits: 2, omittingEmptySubsequences: false)
    let hasLabel = first.isEncoded && parts.count == 3
    let label = hasLabel ? String(decoding: parts[0], as: UTF8.self) : ""
    var bytes = Self.unescaped(hasLabel ? Array(parts[2]) : first.bytes, first.isEncoded)
    var number = 1
    while let piece = pieces[number] {
      bytes += Self.unescaped(piece.bytes, piece.isEncoded)
      number += 1
    }
    return words.text(bytes, label: label.isEmpty ? nil : label)
  }

  private static func unescaped(_ bytes: [UInt8], _ isEncoded: Bool) -> [UInt8] {
    guard isEncoded else { return bytes }
    var plain: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
        let high = EncodedWords.digit(bytes[index + 1]),
        let low = EncodedWords.digit(bytes[index + 2])
      {
        plain.append(high << 4 | low)
        index += 3
      } else {
        plain.append(bytes[index])
        index += 1
      }
    }
    return plain
  }

  /// Names in lower case, and values without their quotation marks.
  private static func split(_ field: [UInt8]) -> [(name: String, value: [UInt8])] {
    var parts: [[UInt8]] = [[]]
    var (isQuoted, isEscaped) = (false, false)
    for byte in field {
      if !isQuoted && byte == UInt8(ascii: ";") {
        parts.append([])
        continue
      }
      if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
      isEscaped = !isEscaped && isQuoted && byte == 0x5C
      parts[parts.count - 1].append(byte)
    }
    return parts.dropFirst().compactMap { part in
      guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let name = String(decoding: part[..<equals].filter { $0 != 0x20 }, as: UTF8.self).lowercased()
      return (name, unquoted(part[(equals + 1)...]))
    }
  }

  private static func unquoted(_ value: ArraySlice<UInt8>) -> [UInt8] {
    var value = value.drop { $0 == 0x20 }
    while value.last == 0x20 { value.removeLast() }
    guard value.first == UInt8(ascii: "\"") else { return Array(value) }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in value.dropFirst() {
      if !isEscaped && byte == UInt8(ascii: "\"") { break }
      isEscaped = !isEscaped && byte == 0x5C
      if !isEscaped { bytes.append(byte) }
    }
    return bytes
  }
}
