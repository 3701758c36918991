import Glibc
import Platform

/// A folder of files to take in.
struct Input {
  var folder: String
  var count: Int
  var bytes: Int64
  /// Files of equal content are stored once.
  var contents: Int

  /// One path per line, for raw.c and the peers.
  var list: String { folder + ".list" }

  /// The files that are in a folder.
  init(_ folder: String, contents: Int? = nil) throws {
    self.folder = folder
    var paths: [String] = []
    var bytes: Int64 = 0
    try Files.walk(folder) { path, facts in
      paths.append(path)
      bytes += Int64(facts.st_size)
    }
    count = paths.count
    self.bytes = bytes
    self.contents = contents ?? count
    try Files.write(paths.sorted().map { $0 + "\n" }.joined(), to: list)
  }

  /// The corpus, repeated as often as needed. Sluice stores equal content once and raw does not, so each copy
  /// gets a comment of its own at the end: the same PDF, but different content.
  ///
  /// - Parameters:
  ///   - copies: of each content, under different names.
  ///   - sizes: in bytes, of the PDFs to choose from.
  static func pdfs(
    _ count: Int, copies: Int = 1, sizes: ClosedRange<Int> = 0...Int.max, on ground: Ground,
    under name: String
  ) throws -> Input {
    guard Files.exists(Settings.corpus) else {
      throw Skipped(reason: "no corpus at \(Settings.corpus); name one with SLUICE_CORPUS")
    }
    let sources = try Files.list(Settings.corpus).map { path in
      (name: path.split(separator: "/").last.map(String.init) ?? "", content: try Files.bytes(path))
    }.filter { sizes.contains($0.content.count) }
    if sources.isEmpty { throw Skipped(reason: "no files in \(Settings.corpus)") }
    let mean = sources.reduce(0) { $0 + Int64($1.content.count) } / Int64(sources.count)
    // The input and what one program stores of it.
    try ground.needs(2 * mean * Int64(count * copies))
    let folder = try makeFolder(ground, name, "\(count * copies) PDFs")
    for copy in 0..<copies {
      for index in 0..<count {
        let source = sources[index % sources.count]
        let number = padded(copy * count + index)
        try Files.write(
          source.content, Array("\n%\(index)\n".utf8), to: "\(folder)/\(number)-\(source.name)")
      }
    }
    return try Input(folder, contents: count)
  }

  /// The sizes of PDFs of about 50 KB: those of the corpus have that mean.
  static let usualSizes = 15_000...106_000

  /// Files of words, all with different content.
  static func texts(_ count: Int, size: Int, on ground: Ground, under name: String) throws -> Input {
    let folder = try makeFolder(ground, name, "\(count) text files")
    let words = [
      "ledger", "stage", "worker", "and", "of", "the", "letter", "goes", "through", "sluice", "in", "a",
    ]
    var random = SplitMix(state: 7)
    for index in 0..<count {
      var text = "file \(index)\n"
      while text.utf8.count < size {
        let bits = random.next()
        for place in 0..<8 {
          text += words[Int(bits >> (place * 8) & 0xFF) % words.count] + (place == 7 ? "\n" : " ")
        }
      }
      try Files.write(Array(text.utf8.prefix(size)), to: "\(folder)/\(padded(index)).txt")
    }
    return try Input(folder)
  }

  /// Files of bytes without any format.
  static func blobs(_ count: Int, size: Int, on ground: Ground, under name: String) throws -> Input {
    try ground.needs(2 * Int64(count * size))
    let folder = try makeFolder(ground, name, "\(count) files of \(size >> 20) MB")
    var random = SplitMix(state: 11)
    var content = [UInt8](repeating: 0, count: size)
    content.withUnsafeMutableBytes { bytes in
      for place in stride(from: 0, to: size & ~7, by: 8) {
        bytes.storeBytes(of: random.next(), toByteOffset: place, as: UInt64.self)
      }
    }
    // Bytes that no media type begins with.
    content.replaceSubrange(0..<4, with: [0, 1, 2, 3])
    for index in 0..<count {
      withUnsafeBytes(of: UInt64(index)) { content.replaceSubrange(16..<24, with: $0) }
      try Files.write(content, to: "\(folder)/\(padded(index)).bin")
    }
    return try Input(folder)
  }

  /// Frees the disk space; the empty files stay until the bench ends.
  func drop(_ ground: Ground) throws { try ground.empty(folder) }

  private static func makeFolder(_ ground: Ground, _ name: String, _ what: String) throws -> String {
    progress("making \(what)")
    let folder = ground.inputs + "/" + name
    try Files.makeFolder(folder)
    return folder
  }

  static func padded(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(8 - digits.count, 0)) + digits
  }
}
