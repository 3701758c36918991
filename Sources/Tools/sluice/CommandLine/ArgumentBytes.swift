import Glibc

/// Arguments as they were given: names of files need not be UTF-8, and what is not becomes U+FFFD in the texts of arguments.
enum ArgumentBytes {
  /// The bytes of words that are in the order in which they were given.
  static func of(_ words: [String]) -> [[UInt8]] {
    var given: [[UInt8]] = []
    for place in 0..<Int(CommandLine.argc) {
      guard let text = CommandLine.unsafeArgv[place] else { continue }
      given.append(Array(UnsafeRawBufferPointer(start: text, count: strlen(text))))
    }
    return words.map { word in
      guard word.unicodeScalars.contains("\u{FFFD}"),
        let index = given.firstIndex(where: { bytes in
          let text = String(decoding: bytes, as: UTF8.self)
          return text.utf8.elementsEqual(word.utf8) || text.hasPrefix("--") && text.hasSuffix("=\(word)")
        })
      else { return Array(word.utf8) }
      let bytes = given.remove(at: index)
      if String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(word.utf8) { return bytes }
      return Array(bytes[((bytes.firstIndex(of: UInt8(ascii: "=")) ?? -1) + 1)...])
    }
  }

  /// Whether a word is UTF-8 as it was given.
  static func isText(_ word: String) -> Bool {
    of([word]).allSatisfy { String(validating: $0, as: UTF8.self) != nil }
  }
}
