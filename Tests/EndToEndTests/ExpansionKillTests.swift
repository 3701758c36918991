import Foundation
import Platform
import Testing

/// Coordinators and workers are killed at random while contents are taken out of contents: nothing is lost or doubled.
@Suite(.serialized)
struct ExpansionKillTests {
  private static let roots = 16
  /// What comes out of each: `one` with two of its own, `two`, and `three` with one of its own.
  private static let tree = ">one|>x|>y\n>two\n>three|>z\n"
  private static let names = [
    "line-1.txt", "line-1.txt/line-1.txt", "line-1.txt/line-2.txt", "line-2.txt", "line-3.txt",
    "line-3.txt/line-1.txt",
  ]
  private static let inAll = roots * 7

  private func home(waits: Bool) throws -> DerivedHome {
    let home = try DerivedHome(
      "- use: expand\n- use: derive", retry: "{ attempts: 50, backoff: 1ms, max: 5ms }",
      more: "expand: { wait: \(waits) }")
    for number in 0..<Self.roots { try home.add("\(number).txt", "root \(number)\n" + Self.tree) }
    return home
  }

  /// Starts an ingest, and lets a body do what it likes while it works. Returns its exit code; `nil`: it was killed.
  private func ingest(_ home: DerivedHome, _ body: (Process) -> Void) throws -> Int32? {
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--sender", "ann", "--participants", "ann,ben", "in"], in: home.folder,
      out: home.folder.path + "/.out", err: home.folder.path + "/.err",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    body(process)
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal ? nil : process.terminationStatus
  }

  private func check(_ home: DerivedHome, waits: Bool) throws {
    let rows = try home.rows()
    #expect(rows.count == Self.inAll)
    #expect(rows.allSatisfy { $0.status == "completed" && $0.derived?.count == 2 })
    let places = Set(rows.map { "\($0.parentId ?? "-")/\($0.fileName)" })
    #expect(places.count == Self.inAll, "none is doubled")
    let roots = rows.filter { $0.parentId == nil }
    #expect(roots.count == Self.roots)
    if waits {
      #expect(roots.allSatisfy { $0.children == ["count": 3, "completed": 3] })
      let early = try home.count(
        "attachments c JOIN attachments p ON p.key = c.parent WHERE p.finished_at < c.finished_at")
      #expect(early == 0, "each ends after its children")
    }
    let told = try home.events().map { try JSON($0) }
    let recipients = Set(
      told.map { "\($0["data"]["attachmentId"].text ?? "") \($0["data"]["recipientId"].text ?? "")" })
    #expect(recipients.count == Self.inAll, "each is told of")
    #expect(try home.count("events") == Self.inAll)
    #expect(home.uploads.isEmpty)
    try home.checkWhole()
    try home.checkWitnessed(
      (0..<Self.roots).map { "\($0).txt" }, tree: Self.names, bounds: ["--depth", "2", "--contents", "6"])
  }

  @Test(arguments: [true, false]) func coordinatorsAreKilled(waits: Bool) throws {
    let home = try home(waits: waits)
    var random = SplitMix(state: waits ? 5 : 6)
    var kills = 0
    for _ in 0..<200 {
      let code = try ingest(home) { process in
        // A later life works longer, so that there is an end.
        usleep(.random(in: 20_000...(50_000 + UInt32(kills) * 15_000), using: &random))
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      }
      if code == 0 { break }
      let said = try home.folder.read(".err")
      #expect(code == nil, "\(said)")
      kills += 1
    }
    #expect(kills > 1)
    // What a life that was killed has left is taken away by the next.
    #expect(try ingest(home) { _ in } == 0)
    try check(home, waits: waits)
  }

  @Test func workersAreKilled() throws {
    let home = try home(waits: true)
    var random = SplitMix(state: 7)
    var kills = 0
    var code: Int32?
    // One whose workers do not get to their start gives up.
    for _ in 0..<20 where code != 0 {
      code = try ingest(home) { process in
        for _ in 0..<12 where process.isRunning {
          usleep(.random(in: 20_000...50_000, using: &random))
          for worker in Inbox.workers(of: process.processIdentifier).shuffled(using: &random).prefix(1) {
            kill(worker, SIGKILL)
            kills += 1
          }
        }
      }
    }
    let said = try home.folder.read(".err")
    #expect(code == 0 && kills > 0, "\(kills): \(said)")
    try check(home, waits: true)
  }
}
