import Foundation
import Testing

/// Lets `sluice-witness` record what a home tells, and judge it. See Tests/Witness.
struct Witness {
  let folder: TemporaryFolder
  var home = "var"
  /// Channels whose calls the witness receives.
  var calls: [String] = []

  /// It is built with the tests and is no part of the product; sanitizers build it elsewhere.
  static let program =
    [SluiceCommand.projectFolder + "/.build/debug", SluiceCommand.folder]
    .map { $0 + "/sluice-witness" }.first { access($0, X_OK) == 0 } ?? "sluice-witness"

  var journal: String { folder.path + "/.witness" }
  private var events: String { "events=\(home)/events.jsonl" }

  // MARK: Recording

  /// A witness that records one run.
  final class Recording {
    /// The run's standard output goes here.
    let input: FileHandle
    private let process: Process

    fileprivate init(_ process: Process, _ input: FileHandle) {
      (self.process, self.input) = (process, input)
    }

    /// Closes this descriptor: the run has its own, or there is no more to record.
    func handOver() throws { try input.close() }

    /// Waits until everything is recorded.
    func end() {
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "the witness is well")
    }
  }

  /// Starts a witness, which copies what it has recorded to a file.
  func record(to out: String) throws -> Recording {
    try start(["--home", home, "--events", events], out)
  }

  /// The common settings of a webhook whose calls the witness receives.
  static func webhook(_ port: Int) -> String {
    let secret = Data("the secret of these tests, 32 b.".utf8).base64EncodedString()
    return "url: \"http://127.0.0.1:\(port)/\", secrets: [\"whsec_\(secret)\"], allow-private: [127.0.0.1]"
  }

  /// Starts a witness that answers the calls of a webhook, until it is handed over.
  func listen(channel: String) throws -> (Recording, port: Int) {
    let out = folder.path + "/.listening"
    let recording = try start(["--listen", channel], out)
    for _ in 0..<60_000 {
      let line = FileManager.default.contents(atPath: out) ?? Data()
      if line.last == UInt8(ascii: "\n") {
        return (recording, try JSONDecoder().decode(Listening.self, from: line).port)
      }
      usleep(1000)
    }
    throw POSIXError(.ETIMEDOUT)
  }

  private struct Listening: Decodable {
    var port: Int
  }

  private func start(_ options: [String], _ out: String) throws -> Recording {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments = ["record", "--journal", journal] + options
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    let pipe = Pipe()
    for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    process.standardInput = pipe
    _ = FileManager.default.createFile(atPath: out, contents: nil)
    process.standardOutput = FileHandle(forWritingAtPath: out)
    try process.run()
    return Recording(process, pipe.fileHandleForWriting)
  }

  /// Records lines printed elsewhere.
  func record(_ lines: String) throws {
    let outcome = try SluiceCommand.run(
      ["record", "--journal", journal], in: folder, input: lines, program: Self.program)
    #expect(outcome.status == 0 && outcome.out == lines, "\(outcome.err)")
  }

  /// Records the offered sources, and their allowed final states.
  ///
  /// - Parameter tree: what is to come out of each: names from its child on, joined by `/`; `nil`: not checked.
  func offer(_ statuses: [String: Set<String>], tree: [String]? = nil) throws {
    let lines = try statuses.sorted { $0.key < $1.key }.map { source, statuses in
      try JSONEncoder().encode(Offer(source: source, statuses: statuses.sorted(), tree: tree))
    }
    try record(lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined())
  }

  private struct Offer: Encodable {
    var record = "offer"
    var source: String
    var statuses: [String]
    var tree: [String]?
  }

  // MARK: Checking

  struct Fault: Decodable {
    var rule: String
    var place: String
    var reason: String

    private enum CodingKeys: String, CodingKey { case rule = "fault", place, reason }
  }

  /// The end of what it prints.
  private struct Total: Decodable {
    var faults: Int
  }

  /// The broken rules.
  func faults(_ options: [String]) throws -> [Fault] {
    let journal = FileManager.default.fileExists(atPath: journal) ? ["--journal", journal] : []
    let outcome = try SluiceCommand.run(
      ["check", "--home", home, "--format", "json"] + journal + options, in: folder, program: Self.program)
    let lines = outcome.out.split(separator: "\n").map { Data($0.utf8) }
    let faults = try lines.dropLast().map { try JSONDecoder().decode(Fault.self, from: $0) }
    let total = try JSONDecoder().decode(Total.self, from: #require(lines.last, "\(outcome.err)")).faults
    let isWhole = total == faults.count && outcome.status == (faults.isEmpty ? 0 : 1)
    #expect(isWhole, "the witness is well: \(outcome.status) \(outcome.err)")
    return faults
  }

  /// Checks the end state: each attachment has an allowed state, and no work is left.
  ///
  /// - Parameters:
  ///   - expected: the allowed states of each source.
  ///   - tree: what is to come out of each source; `nil`: not checked.
  ///   - recipients: who is told of each attachment; `nil`: events are not checked.
  ///   - isClockSet: the wall clock was changed meanwhile, so that its times are in no order.
  /// - Returns: the number of broken rules.
  @discardableResult
  func check(
    _ expected: [String: Set<String>], tree: [String]? = nil, recipients: [String]?, isClockSet: Bool = false,
    _ story: @autoclosure () -> String = ""
  ) throws -> Int {
    try offer(expected, tree: tree)
    var options = ["--drained"] + calls.flatMap { ["--calls", $0] }
    if let recipients { options += ["--recipients", recipients.joined(separator: ","), "--events", events] }
    let faults = try faults(options).filter {
      !(isClockSet && $0.rule == "result-stale" && $0.reason.hasPrefix("it came after that of attempt"))
    }
    for fault in faults.prefix(10) {
      Issue.record("\(story()): \(fault.rule): \(fault.place): \(fault.reason)")
    }
    if faults.count > 10 { Issue.record("\(story()): and \(faults.count - 10) more") }
    return faults.count
  }

  /// The same, with the state completed for each source.
  @discardableResult
  func checkCompleted(_ sources: [String], recipients: [String]?) throws -> Int {
    try check(Dictionary(uniqueKeysWithValues: sources.map { ($0, ["completed"]) }), recipients: recipients)
  }
}
