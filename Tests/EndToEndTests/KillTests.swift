import Glibc
import Platform
import Foundation
import Testing

/// `kill -9` at random moments, restarted each time.
@Suite(.serialized)
struct KillTests {
  @Test func nothingIsLostOrDoneTwiceWhenProcessesAreKilled() throws {
    try Killing(kills: 80, seed: 1).run()
  }
}

/// The longer version, for `make soak`.
@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct KillSoakTests {
  @Test(arguments: 1...5)
  func nothingIsLostInAThousandKills(round: Int) throws {
    let killing = try Killing(kills: 200, seed: UInt64(round) &* 7919)
    try killing.run()
  }
}

/// Feeds an ingest, and kills its coordinator or one of its workers, repeatedly.
private final class Killing {
  private let kills: Int
  private var random: SplitMix
  private let folder: TemporaryFolder
  private var expected: [String: String] = [:]
  private var made = 0
  /// Answers the webhook's calls, from the first run to the last.
  private let listening: Witness.Recording

  init(kills: Int, seed: UInt64) throws {
    self.kills = kills
    random = SplitMix(state: seed)
    folder = try TemporaryFolder()
    let (listening, port) = try Witness(folder: folder).listen(channel: "hook")
    self.listening = listening
    // Enough attempts that no attachment is quarantined for killing its workers: that rule has its own tests.
    try folder.write(
      "pipeline.yaml",
      Pipelines.open.replacingOccurrences(of: "allow: [\"*/*\"]", with: "deny: [text/x-shellscript]")
        .replacingOccurrences(of: "attempts: 3", with: "attempts: 20")
        .replacingOccurrences(of: "channels: [events]", with: "channels: [events, hook]")
        .replacingOccurrences(
          of: "channels:\n",
          with: "channels:\n  hook: { use: webhook, options: { \(Witness.webhook(port)) } }\n"))
  }

  func run() throws {
    var coordinators = 0
    var workers = 0
    try feed(400)
    while coordinators + workers < kills {
      let recording = try witness.record(to: folder.path + "/out")
      let process = try start(recording)
      usleep(UInt32.random(in: 20_000...220_000, using: &random))
      var isKilled = false
      for _ in 0..<Int.random(in: 0...2, using: &random) where process.isRunning {
        let children = children(of: process.processIdentifier)
        guard let victim = children.randomElement(using: &random) else { break }
        if kill(victim, SIGKILL) == 0 { workers += 1 }
        usleep(UInt32.random(in: 0...30_000, using: &random))
      }
      if process.isRunning {
        isKilled = true
        kill(process.processIdentifier, SIGKILL)
        coordinators += 1
      }
      process.waitUntilExit()
      recording.end()
      try feed(isKilled ? 20 : 200)
    }
    let last = try SluiceCommand.run(arguments, in: folder, witness: witness)
    #expect(last.status == 0 || last.status == 1, "\(last.err)")
    try listening.handOver()
    listening.end()
    let wrong = try witness.check(expected.mapValues { [$0] }, recipients: ["ben", "eva"])
    Soak.row("kill -9 at random", tries: coordinators + workers, failures: wrong)
  }

  private var witness: Witness { Witness(folder: folder, calls: ["hook"]) }

  private var arguments: [String] {
    [
      "ingest", "--home", "var", "--sender", "ann", "--participants", "ann,ben,eva", "--conversation", "c1",
      "--format",
      "json", "input",
    ]
  }

  private func start(_ recording: Witness.Recording) throws -> Process {
    try SluiceCommand.start(
      arguments, in: folder, out: folder.path + "/out", err: folder.path + "/err", recording: recording)
  }

  /// Adds files: texts, some of them with equal content, and a few that are rejected.
  private func feed(_ count: Int) throws {
    for _ in 0..<count {
      made += 1
      let kind = Int.random(in: 0..<10, using: &random)
      let text =
        switch kind {
        case 0: "#!/bin/sh\necho \(made)\n"
        case 1, 2: "one of the texts that are there several times: \(made % 7)\n"
        default:
          "text \(made)\n" + String(repeating: "line\n", count: Int.random(in: 0...2000, using: &random))
        }
      let file = try folder.write("input/\(made).txt", text)
      expected[try #require(realpath(file))] = kind == 0 ? "rejected" : "completed"
    }
  }

  private func realpath(_ path: String) -> String? {
    guard let resolved = Glibc.realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private func children(of parent: Int32) -> [Int32] {
    let text = (try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)) ?? ""
    return text.split(separator: " ").compactMap { Int32($0) }
  }
}
