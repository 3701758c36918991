import Foundation
import SQLite
import Testing

/// A folder with everything that a command may be given: a home, files to take in, pipelines, cases, plugins.
struct OddScene: Sendable {
  /// The original, which is copied for each environment.
  static func shared() throws -> OddScene { try made.get() }

  private static let made = Result { try OddScene() }

  let path: String
  /// The id of an attachment in the home.
  let id: String
  let program: String

  private init() throws {
    path = NSTemporaryDirectory() + "sluice-odd-\(getpid())"
    atexit { try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "sluice-odd-\(getpid())") }
    program = try Installation.shared().program
    let folder = try TemporaryFolder()
    for number in 0..<4 { try folder.write("in/\(number).txt", "text \(number % 3)\n") }
    try folder.write("in/a.txt", String(repeating: "line\n", count: 2000))
    try folder.write("in/b.pdf", try Samples.data("report.pdf"))
    try folder.write("more/c.txt", "one that comes later\n")
    try folder.write("more/d.txt", String(repeating: "and another\n", count: 50_000))
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("garbage.yaml", "stages: [\u{1B}[2J, {use: \u{202E}pdf]\n\t- \u{FFFD}\n")
    try folder.write(
      "manifest.jsonl", "{\"path\":\"more/c.txt\"}\n{\"path\":\"more/d.txt\",\"priority\":3}\n")
    try folder.write(
      "nonsense.jsonl",
      "{\"path\":\"more/c.txt\"}\n{\"path\":\n[1,2]\n{\"path\":\"\\u001b[2J\"}\n\u{1B}[2J\n{\"paht\":\"in\"}\n\n"
    )
    try folder.write(
      "cases.yaml",
      "stage: size\ncases:\n  - name: it passes\n    input: { text: a }\n    options: { max: 1MB }\n"
        + "    expect: { verdict: pass }\n")
    try folder.write("odd-plugins/libsluice-odd.so", "This is a text.\n")
    try folder.write("odd-plugins/libsluice-empty.so", "")
    try FileManager.default.createDirectory(
      atPath: folder.path + "/odd-plugins/libsluice-folder.so", withIntermediateDirectories: true)
    try folder.write("unreadable", "nobody may read this\n")
    chmod(folder.path + "/unreadable", 0)
    try FileManager.default.moveItem(atPath: folder.path, toPath: path)
    for words in [
      "ingest --sender ann --participants ann,ben --home home in", "enqueue --home home more/c.txt",
    ] {
      let command = try ChildProcess(shell: "cd \(path) && exec \(program) \(words)")
      try #require(command.wait(seconds: 30) { command.end == .exit(0) }, "\(command.err)")
    }
    id = try #require(
      try Connection(path + "/home/sluice.db", .readOnly).prepare("SELECT id FROM attachments").first {
        $0.text(0)
      })
  }

  /// A copy with empty folders for output and temporary files, and a FIFO.
  func copy() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let status = try FixtureStages.run("/bin/cp", ["-a", path + "/.", folder.path])
    try #require(status == 0)
    for name in ["tmp", "working"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    }
    mkfifo(folder.path + "/pipe", 0o666)
    chmod(folder.path, 0o755)
    return folder
  }
}
