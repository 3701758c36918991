import CMagic
import CMagicFilter
import Foundation
import Testing

/// libmagic answers as it does by itself.
struct MagicTests {
  @Test func answersStayAsTheyAre() throws {
    let contents = try Self.files() + Self.beginnings()
    #expect(contents.count > 150)
    try Self.expectTheSame(contents, kinds: 15)
  }

  /// Texts of the words that libmagic looks for, as they are and changed, at the beginning of lines and elsewhere, behind
  /// much white space, and with bytes between them that other encodings have.
  @Test(arguments: 1...3) func answersStayAsTheyAreForRandomTexts(seed: UInt64) throws {
    var random = Random(state: seed)
    let words = try Self.wordsOfTheDatabase()
    #expect(words.count > 200)
    try Self.expectTheSame((0..<800).map { _ in random.text(of: words) }, kinds: 12)
  }

  /// What is no text, or another, is tested in full again.
  @Test func oneContentLeavesNothingForTheNext() throws {
    let script = Data("#include <a.h>\nstruct a b;\n".utf8)
    try Self.expectTheSame(
      [
        Data("plain words\n".utf8), script, Data("plain words\n".utf8), Data([0xFF, 0xFE, 0x41, 0]) + script,
        script,
      ],
      kinds: 2)
  }

  /// `file` of another version, and what is none.
  @Test func anotherDatabaseIsLeftToLibmagic() throws {
    var filter = sluice_magic_filter()
    #expect(!sluice_magic_filter_open(&filter, "/nonexistent.mgc", 8192))
    #expect(!sluice_magic_filter_open(&filter, "/etc/magic", 8192))
    var database = try Data(contentsOf: URL(fileURLWithPath: Self.path))
    for place in [0, 4, 8] {
      database[place] ^= 1
      let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
      defer { try? FileManager.default.removeItem(at: path) }
      try database.write(to: path)
      #expect(!sluice_magic_filter_open(&filter, path.path, 8192), "byte \(place)")
      database[place] ^= 1
    }
  }

  // MARK: libmagic

  private static let path = "/usr/share/misc/magic.mgc"

  private static func expectTheSame(_ contents: [Data], kinds: Int) throws {
    let (plain, filtered) = (
      try #require(magic_open(MAGIC_MIME_TYPE)), try #require(magic_open(MAGIC_MIME_TYPE))
    )
    var filter = sluice_magic_filter()
    defer {
      [plain, filtered].forEach(magic_close)
      sluice_magic_filter_close(&filter)
    }
    try #require(magic_load(plain, path) == 0)
    var longest = 0
    try #require(magic_getparam(filtered, MAGIC_PARAM_REGEX_MAX, &longest) == 0)
    try #require(sluice_magic_filter_open(&filter, path, longest), "the form of the database is known")
    var (database, size) = (filter.database, filter.size)
    try #require(magic_load_buffers(filtered, &database, &size, 1) == 0)
    let name = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    let file = open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    unlink(name)
    var answers: Set<String> = []
    for content in contents {
      ftruncate(file, 0)
      content.withUnsafeBytes { _ = pwrite(file, $0.baseAddress, $0.count, 0) }
      lseek(file, 0, SEEK_SET)
      let answer = magic_descriptor(plain, file).map { String(cString: $0) } ?? "none"
      sluice_magic_filter_set(&filter, file)
      let other = magic_descriptor(filtered, file).map { String(cString: $0) } ?? "none"
      #expect(
        other == answer,
        "\(content.prefix(200).debugDescription) \(String(decoding: content.prefix(200), as: UTF8.self))")
      answers.insert(answer)
    }
    #expect(answers.count >= kinds, "\(answers)")
  }

  // MARK: Contents

  /// The sources of this project.
  private static func files() throws -> [Data] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    var contents: [Data] = []
    for place in ["Plugins", "Tests/Fixtures", "docs", "Makefile", "Tests/run.sh"] {
      let root = folder.appendingPathComponent(place)
      let found =
        FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.allObjects as? [URL] ?? []
      for file in [root] + found {
        if let data = try? Data(contentsOf: file), data.count < 1 << 20 { contents.append(data) }
      }
    }
    return contents
  }

  /// What patterns of libmagic's look for, at several places of a text.
  private static func beginnings() -> [Data] {
    let words = [
      "class Foo\n  def x\n", "module X\n", "require 'a/b'\n", "const a = require('b')\n",
      "export default a\n",
      "import a from 'b'\n", "#include <a.h>\nint main(void) {}\n", ".globl main\n", "BEGIN { x }\n",
      "%! SiSU insert\n", "1\n00:00:01,000 --> 00:00:02,000\nx\n", "PROC main() =\n", "(ns a.b)\n",
      "(defn f [x])\n", "say 'x'\n", "a\tb\tc\n", "CFLAGS = -O\nall:\n", "package required\n",
      "public:\n  int a;\n", "except ValueError:\n", "begin 644 a\n", "(;GM[1])\n", "@startuml\n",
      "<?php echo 1;\n", "#!/bin/sh\n", "msgid \"\"\n", "From a@b Thu Jan  1 00:00:00 1970\n",
      "        #include <a>\n", "<!DOCTYPE   html>\n", "<a       href=\"x\">\n", "<sCript >\n",
      "\n   \t=head1 a\n",
    ]
    let far = Data("<a".utf8) + Data(repeating: 0x20, count: 6000) + Data("href=\"x\">".utf8)
    return [far] + words.flatMap { variants(Data($0.utf8)) }
  }

  private static func variants(_ word: Data) -> [Data] {
    let line = Data("some words in a line\n".utf8)
    let wide = Data(word.flatMap { [$0, 0] })
    // `include` in letters that are longer in UTF-8 than need be.
    let long = Data(word.flatMap { $0 > 0x60 ? [0xC1, $0 + 0x20] : [$0] })
    var variants = [word, long, word + Data([0, 1, 2]) + word]
    variants += [
      Data([0xEF, 0xBB, 0xBF]) + word, Data([0xFF, 0xFE]) + wide, Data([0xE9, 0xE8, 0x20]) + word,
    ]
    variants.append(Data(Array(repeating: line, count: 50).joined()) + word)
    variants.append(word + Data(Array(repeating: line, count: 500).joined()))
    return variants
  }

  /// The words of all tests for texts that search or match a pattern.
  private static func wordsOfTheDatabase() throws -> [Data] {
    let database = try Data(contentsOf: URL(fileURLWithPath: path))
    return stride(from: 376, to: database.count, by: 376).compactMap { start in
      let entry = database[start..<start + 376]
      guard [17, 20].contains(entry[start + 6]), entry[start + 2] & 0x20 == 0 else { return nil }
      return entry[start + 32..<start + 32 + Int(min(entry[start + 5], 127))]
    }
  }

  private struct Random {
    var state: UInt64

    mutating func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }

    mutating func text(of words: [Data]) -> Data {
      var text = next(8) == 0 ? Data([0xEF, 0xBB, 0xBF]) : Data()
      if next(8) == 0 { text += Data(repeating: UInt8(ascii: "x"), count: next(70_000)) }
      for _ in 0...next(12) {
        text += word(words[next(words.count)])
        switch next(12) {
        case 0: text += Data(repeating: [0x20, 0x09, 0x0A][next(3)], count: next(3000))
        case 1: text += Data("some words in a line\n".utf8)
        case 2:
          text += Data([[0xE9], [0xC3, 0xA9], [0xE0, 0xA4, 0x85], [0xC1, 0xA1], [0x00], [0x1B]][next(6)])
        case 3...5: text += Data(" ".utf8)
        default: text += Data("\n".utf8)
        }
      }
      return text
    }

    /// A pattern is turned into something that it may match.
    private mutating func word(_ word: Data) -> Data {
      var text = String(decoding: word, as: UTF8.self)
      for (pattern, to) in [
        ("[[:space:]]", " "), ("[ \t]", " "), ("[[:alpha:]]", "a"), ("[A-Z]", "A"), ("[a-z]", "b"), ("^", ""),
        ("$", ""),
        ("\\", ""), (".*", "x"), ("*", ""), ("+", ""), ("?", ""),
      ] { text = text.replacing(pattern, with: to) }
      if next(4) == 0, let group = text.firstIndex(of: "("), let bar = text[group...].firstIndex(of: "|") {
        text = String(text[..<group] + text[text.index(after: group)..<bar])
      }
      if next(6) == 0 { text = text.uppercased() }
      return text.contains("\u{FFFD}") ? word : Data(text.utf8)
    }
  }
}
