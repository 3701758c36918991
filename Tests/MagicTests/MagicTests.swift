import CMagic
import CMagicPatterns
import Foundation
import Testing

/// libmagic answers as it does by itself.
struct MagicTests {
  @Test func answersStayAsTheyAre() throws {
    let contents = try Self.contents()
    #expect(contents.count > 150)
    let before = try Self.answers(contents)
    #expect(Set(before).count > 15, "\(Set(before))")
    #expect(sluice_magic_patterns(), "libmagic imports what is replaced")
    #expect(try Self.answers(contents) == before)
  }

  private static func answers(_ contents: [Data]) throws -> [String] {
    let magic = try #require(magic_open(MAGIC_MIME_TYPE))
    defer { magic_close(magic) }
    try #require(magic_load(magic, nil) == 0)
    return contents.map { content in
      content.withUnsafeBytes { magic_buffer(magic, $0.baseAddress, $0.count).map { String(cString: $0) } }
        ?? "none"
    }
  }

  /// The sources of this project, and beginnings that patterns of libmagic's look for, at several places of a text.
  private static func contents() throws -> [Data] {
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
    let words = [
      "class Foo\n  def x\n", "module X\n", "require 'a/b'\n", "const a = require('b')\n",
      "export default a\n",
      "import a from 'b'\n", "#include <a.h>\nint main(void) {}\n", ".globl main\n", "BEGIN { x }\n",
      "%! SiSU insert\n",
      "1\n00:00:01,000 --> 00:00:02,000\nx\n", "PROC main() =\n", "(ns a.b)\n", "(defn f [x])\n", "say 'x'\n",
      "a\tb\tc\n",
      "CFLAGS = -O\nall:\n", "package required\n", "public:\n  int a;\n", "except ValueError:\n",
      "begin 644 a\n",
      "(;GM[1])\n", "@startuml\n", "<?php echo 1;\n", "#!/bin/sh\n", "msgid \"\"\n",
      "From a@b Thu Jan  1 00:00:00 1970\n",
    ]
    for word in words {
      contents.append(Data(word.utf8))
      contents.append(Data((String(repeating: "some words in a line\n", count: 50) + word).utf8))
      contents.append(Data((word + String(repeating: "some words in a line\n", count: 500)).utf8))
      contents.append(Data(word.utf8) + Data([0, 1, 2]) + Data(word.utf8))
    }
    return contents
  }
}
