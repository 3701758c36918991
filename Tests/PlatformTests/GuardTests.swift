import Foundation
import Testing

/// The files in `Tests/Guards`, without running them: Tests/guards.sh has their format. A guard whose text has moved would take
/// nothing out.
struct GuardTests {
  private static let project = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  private struct Edit {
    var file: String
    var old: [Substring] = []
  }

  /// The words in the sources of tests, and the names of their folders.
  private static func testWords() throws -> Set<Substring> {
    var words: Set<Substring> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: project + "/Tests")
    where path.hasSuffix("Tests.swift") || path.contains("Tests+") {
      words.insert(path.prefix { $0 != "/" })
      let text = try String(contentsOfFile: "\(project)/Tests/\(path)", encoding: .utf8)
      words.formUnion(text.split { !$0.isLetter && !$0.isNumber })
    }
    return words
  }

  @Test func whatEachGuardTakesOutIsThereOnce() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.project + "/Tests/Guards")
    #expect(names.count > 50)
    let known = try Self.testWords()
    for name in names {
      let text = try String(contentsOfFile: "\(Self.project)/Tests/Guards/\(name)", encoding: .utf8)
      let lines = text.split(separator: "\n")
      let filter = lines.first { $0.hasPrefix("tests ") }?.dropFirst(6)
      #expect(filter != nil, "\(name) names no tests")
      for word in (filter ?? "").split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
        #expect(known.contains(word), "\(name): there is no test '\(word)'")
      }
      var edits: [Edit] = []
      for line in lines {
        if line.hasPrefix("in ") { edits.append(Edit(file: String(line.dropFirst(3)))) }
        if line.hasPrefix("- ") {
          try #require(!edits.isEmpty, "\(name) names no file")
          edits[edits.count - 1].old.append(line.dropFirst(2))
        }
      }
      #expect(!edits.isEmpty, "\(name) takes nothing out")
      for edit in edits {
        let source = try String(contentsOfFile: "\(Self.project)/\(edit.file)", encoding: .utf8)
        let old = edit.old.joined(separator: "\n")
        #expect(
          !old.isEmpty && source.components(separatedBy: old).count == 2, "\(name): \(edit.file): \(old)")
      }
    }
  }
}
