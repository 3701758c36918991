/// Whether a text is `type/subtype` of token characters (RFC 9110, sections 8.3.1 and 5.6.2), of reasonable
/// length.
func isMediaType(_ text: String) -> Bool {
  let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
  return text.utf8.count <= 255 && parts.count == 2
    && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(isToken) }
}

private func isToken(_ byte: UInt8) -> Bool {
  isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
}

private func isAlphanumeric(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "a")...UInt8(ascii: "z"):
    true
  default: false
  }
}

/// A text from outside without control characters, cut at `limit` bytes between characters.
func plainText(_ text: String, limit: Int) -> String {
  var plain = String.UnicodeScalarView()
  var count = 0
  for scalar in text.unicodeScalars {
    if scalar.properties.generalCategory == .control { continue }
    count += UTF8.width(scalar)
    if count > limit { break }
    plain.append(scalar)
  }
  return String(plain)
}

/// The media type that a sender declared, without parameters and in lower case; `nil` if it is not a media
/// type.
func declaredMediaType(_ declared: String) -> String? {
  let essence = declared.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
  return isMediaType(essence) ? essence : nil
}

/// The extension of a file name as a sender gave it, in lower case: up to sixteen plain characters after the
/// last dot of the last part of a path. `nil` for a name without one, or that is nothing but one
/// (`.profile`).
func fileExtension(_ fileName: String) -> String? {
  let name = fileName.utf8.split(omittingEmptySubsequences: false) {
    $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
  }
  guard let last = name.last, let dot = last.lastIndex(of: UInt8(ascii: ".")), dot > last.startIndex else {
    return nil
  }
  let letters = last[last.index(after: dot)...]
  guard 1...16 ~= letters.count, letters.allSatisfy({ isAlphanumeric($0) || "+-_".utf8.contains($0) }) else {
    return nil
  }
  return String(decoding: letters, as: UTF8.self).lowercased()
}
