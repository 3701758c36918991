import Pipeline

extension FuzzTarget {
  /// A pattern on the first line, media types on the others.
  static let mediaTypes = FuzzTarget(name: "media-types", longest: 512) { bytes in
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map { text($0) }
    for type in lines where MediaTypePattern.isMediaType(type) {
      try demand(isPrintable(type), "the media type \(type.debugDescription)")
      let essence = type.prefix { $0 != ";" && $0 != " " }
      try demand(MediaTypePattern(String(essence))?.matches(type) == true, "\(type) does not match itself")
    }
    guard let pattern = MediaTypePattern(lines[0]) else { return }
    try demand(isPrintable(lines[0]), "the pattern \(lines[0].debugDescription)")
    try demand(pattern.matches(nil) == (lines[0] == "*/*"), "\(lines[0]) and a type that is not known")
    for type in lines.dropFirst() where pattern.matches(type) {
      try demand(pattern.matches(type.uppercased()) || !isPrintable(type), "case counts for \(type)")
    }
  }

  static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } }
}
