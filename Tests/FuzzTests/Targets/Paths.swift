import Pipeline

extension FuzzTarget {
  /// A template on the first line, values of its placeholders on the others.
  static let paths = FuzzTarget(name: "paths") { bytes in
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map { text($0) }
    let values = lines.count > 1 ? Array(lines.dropFirst()) : [""]
    for value in values {
      let part = PathTemplate.escaped(value)
      try demand((1...202).contains(part.utf8.count) && isWithinStore(part), "\(value) is escaped as \(part)")
      let suffix = PathTemplate.fileExtension(for: value)
      try demand(isWithinStore(suffix) && !suffix.contains("/"), "\(value) gets the extension \(suffix)")
    }
    guard let template = PathTemplate(lines[0]) else {
      return try demand(PathTemplate.problem(in: lines[0]) != nil, "refused without a word")
    }
    try demand(template.description.utf8.elementsEqual(lines[0].utf8), "a template does not keep its text")
    let path = template.path { name in
      values[(PathTemplate.placeholders.firstIndex(of: name) ?? 0) % values.count]
    }
    if let path { try demand(isWithinStore(path), "\(lines[0]) makes \(path)") }
  }

  /// Judged by bytes, as the kernel does.
  static func isWithinStore(_ path: String) -> Bool {
    path.utf8.count <= 1024 && !path.utf8.contains(0)
      && path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
        !$0.isEmpty && $0.first != UInt8(ascii: ".")
      }
  }
}
