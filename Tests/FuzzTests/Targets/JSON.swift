import Platform

extension FuzzTarget {
  /// Texts separated by NUL, written and read again; and the input as a list of texts.
  static let json = FuzzTarget(name: "json") { bytes in
    try roundTrip(bytes.split(separator: 0, omittingEmptySubsequences: false).map { text($0) })
    if let texts = JSONStrings.read(text(bytes)) { try roundTrip(texts) }
    let digits = Hexadecimal.text(bytes)
    try demand(Hexadecimal.bytes(digits) == bytes, "\(digits) reads as other bytes")
    if let read = Hexadecimal.bytes(text(bytes)) {
      try demand(
        Hexadecimal.text(read).utf8.elementsEqual(text(bytes).lowercased().utf8), "digits of other bytes")
    }
  }

  private static func roundTrip(_ texts: [String]) throws(Violation) {
    var writer = JSONWriter()
    writer.array { writer in
      for text in texts { writer.value(text) }
    }
    try demand(!writer.text.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "controls in \(writer.text)")
    guard let read = JSONStrings.read(writer.text) else {
      throw Violation(description: "what was written does not read: \(writer.text)")
    }
    // Compare bytes: Swift's string equality is looser.
    try demand(read.map { Array($0.utf8) } == texts.map { Array($0.utf8) }, "other texts: \(writer.text)")
  }
}
