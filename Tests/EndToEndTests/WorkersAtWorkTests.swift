import Foundation
import Testing

/// What the workers of a coordinator do, as `sluice watch` and `sluice status` show it.
@Suite(.serialized)
struct WorkersAtWorkTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml", Pipelines.telling("- use: misbehave\n  timeout: 60s", more: "workers: 1"))
    try folder.write("in/slow.txt", "misbehave sleep\n")
  }

  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  /// A coordinator whose one worker of that stage sleeps. Returns the attachment that it has.
  private func sleeping() throws -> (Resident, id: String) {
    let resident = try Resident(folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    try #require(try sluice("enqueue", "--sender", "ann", "--participants", "ann,ben", "in").status == 0)
    try Resident.wait("it is in hand") { try sluice("status").out.contains("1 leased") }
    return (resident, try #require(try sluice("list", "--format", "json").attachments.first).id)
  }

  /// A watch that prints records. Returns them once there is one that is wanted.
  private func watch(_ what: String, until isWanted: ([JSON]) -> Bool) throws -> [JSON] {
    let name = "watch-\(UUID().uuidString)"
    let process = try SluiceCommand.start(
      ["watch", "--format", "json", "--home", "home"], in: folder, out: "\(folder.path)/\(name)",
      err: "\(folder.path)/\(name).err")
    defer {
      kill(process.processIdentifier, SIGTERM)
      process.waitUntilExit()
    }
    func records() throws -> [JSON] {
      try folder.read(name).split(separator: "\n").map { try JSON(String($0)) }.filter {
        $0["record"].text == "workers"
      }
    }
    try Resident.wait(what) { isWanted(try records()) || !process.isRunning }
    let found = try records()
    try #require(isWanted(found), "\(found)")
    return found
  }

  private static func group(_ record: JSON, _ name: String) -> JSON? {
    record["groups"].elements.first { $0["name"].text?.contains(name) == true }
  }

  @Test func theStageThatHasBeenAtWorkLongestIsShownWithItsAttachment() throws {
    let before = Date()
    let (resident, id) = try sleeping()
    let records = try watch("the stage that sleeps") { $0.last?["longest"]["stage"].text == "misbehave" }
    let last = try #require(records.last)
    #expect(last["longest"]["attachmentId"].text == id && last["position"].text?.isEmpty == false)
    let since = try #require(last["longest"]["since"].text.flatMap { Self.times.date(from: $0) })
    #expect(since.timeIntervalSince(before) > -0.01 && since < Date())
    let group = try #require(Self.group(last, "misbehave"))
    #expect(group["busy"] == .number(1) && group["total"] == .number(1), "\(last)")
    let idle = try #require(Self.group(last, "channel:events"))
    #expect(idle["busy"] == .number(0) && idle["total"] == .number(1), "\(last)")
    // The same again is no change; another that waits is none.
    let again = try watch("a second look") { !$0.isEmpty }
    #expect(
      again.count == 1
        && again[0]["longest"]["since"].text?.prefix(21) == last["longest"]["since"].text?.prefix(21))
    let status = try sluice("status").out
    #expect(
      status.contains(#/\nworkers +1 of [0-9]+ busy; the longest is misbehave for [0-9a-z ]+ on /#)
        && status.contains(id),
      "\(status)")
    kill(resident.process.processIdentifier, SIGKILL)
  }

  private static var times: ISO8601DateFormatter {
    let format = ISO8601DateFormatter()
    format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return format
  }

  @Test func theEndOfACoordinatorIsALineWithoutWorkers() throws {
    let (resident, _) = try sleeping()
    var isKilled = false
    let records = try watch("that nobody works any more") { records in
      if !records.isEmpty && !isKilled {
        isKilled = true
        kill(resident.process.processIdentifier, SIGKILL)
      }
      return records.count > 1
    }
    #expect(records.last?["groups"].elements.isEmpty == true && records.last?["longest"] == .null)
    #expect(try !sluice("status").out.contains("\nworkers"))
  }

  /// It is stopped, as by a debugger: what it would say is left out.
  @Test func aCoordinatorThatDoesNotAnswerHoldsNoStatusUp() throws {
    let (resident, _) = try sleeping()
    try Resident.suspend(resident.process.processIdentifier)
    let start = Date()
    let status = try sluice("status")
    #expect(status.status == 0 && !status.out.contains("\nworkers"), "\(status.out)")
    #expect(Date().timeIntervalSince(start) < 20)
    kill(resident.process.processIdentifier, SIGKILL)
  }

  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func theViewHasTheWorkersToo() throws {
    let (resident, id) = try sleeping()
    let shown = try SluiceCommand.run(
      [
        "-c",
        "(sleep 1.5; printf q) | timeout 30 script -qec 'stty cols 120 rows 30; sluice watch --home home' /dev/null",
      ],
      in: folder, environment: ["PATH": SluiceCommand.folder + ":/bin:/usr/bin", "TERM": "xterm"],
      program: "/bin/sh"
    ).out
    #expect(shown.contains(#/workers 1\/[0-9]+ busy: /#) && shown.contains("misbehave 1/1"), "\(shown)")
    #expect(shown.contains("longest misbehave for ") && shown.contains(" on \(id), since "), "\(shown)")
    kill(resident.process.processIdentifier, SIGKILL)
  }
}
