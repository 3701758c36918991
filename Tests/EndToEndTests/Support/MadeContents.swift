import Foundation
import Testing

/// Contents that a program of `Tests/Fixtures/Contents` makes, and what it says that must come out of them.
struct MadeContents<Expected: Decodable> {
  let folder: TemporaryFolder
  /// By the name of the file, in order.
  let expected: [(file: String, expected: Expected)]

  /// - Parameter files: for the program, as arguments.
  init(_ program: String, _ files: [String] = []) throws {
    folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(
      ["\(SluiceCommand.projectFolder)/Tests/Fixtures/Contents/\(program)"] + files, in: folder,
      program: "/usr/bin/python3")
    try #require(outcome.status == 0, "\(outcome.err)")
    let all = try JSONDecoder().decode([String: Expected].self, from: Data(folder.read("expected.json").utf8))
    expected = all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// What a stage says of them, in the same order.
  func run(_ stage: String, _ words: [String] = [], _ files: [String]? = nil) throws -> [Printed.StageRun] {
    let files = files ?? expected.map(\.file)
    let outcome = try SluiceCommand.run(
      ["stages", "run", stage, "--format", "json"] + words + files, in: folder)
    let runs = try outcome.every(Printed.StageRun.self)
    try #require(runs.count == files.count, "\(outcome.err)")
    return runs
  }
}

extension Printed.StageRun.Piece {
  /// The host cuts names at 255 bytes.
  var short: Printed.StageRun.Piece {
    var short = self
    while short.name.utf8.count > 255 { short.name.removeLast() }
    return short
  }
}
