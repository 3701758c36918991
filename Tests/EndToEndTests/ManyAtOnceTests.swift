import Foundation
import Synchronization
import Testing

/// Stages of the line that work on many attachments at once: `scan`, and one in C that does what such a stage must not.
@Suite(.serialized)
struct ManyAtOnceTests {
  // MARK: A scanner that takes its time

  /// What a scanner is asked, and when it answers.
  private final class Desk: Sendable {
    private struct State {
      var inHand = 0
      var most = 0
      var answered = 0
      var asked: [String: Int] = [:]
      var isFree = false
    }
    private let state = Mutex(State())

    var most: Int { state.withLock { $0.most } }
    var answered: Int { state.withLock { $0.answered } }
    var asked: [String: Int] { state.withLock { $0.asked } }

    /// All are answered from now on.
    var isFree: Bool { state.withLock { $0.isFree } }
    func free() { state.withLock { $0.isFree = true } }

    func begin(_ content: [UInt8]) {
      state.withLock {
        $0.inHand += 1
        $0.most = max($0.most, $0.inHand)
        $0.asked[String(decoding: content, as: UTF8.self), default: 0] += 1
      }
    }

    func end() {
      state.withLock {
        $0.inHand -= 1
        $0.answered += 1
      }
    }

    /// Waits for what other connections do; gives up after twenty seconds.
    func wait(_ condition: (Desk) -> Bool) -> Bool {
      for _ in 0..<4000 {
        if condition(self) { return true }
        usleep(5000)
      }
      return false
    }
  }

  private static let clean = Array("stream: OK\0".utf8)

  private func inbox(
    asking address: String, _ options: String = "timeout: 30s", attempts: Int = 1
  ) throws -> Inbox {
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        "- use: scan\n  options: { address: \"\(address)\", retry-after: 50ms, \(options) }",
        more: "retry: { attempts: \(attempts), backoff: 50ms, max: 200ms }"))
    return inbox
  }

  @Test(arguments: ["unix", "tcp"])
  func aHundredContentsDoNotWaitForEachOther(way: String) throws {
    let (desk, folder) = (Desk(), try TemporaryFolder())
    let fake = try FakeScanner(
      at: way == "unix" ? .unix(folder.path + "/socket") : .tcp,
      .answers { content in
        desk.begin(content)
        waitBriefly(5) { desk.most >= 8 }
        desk.end()
        return Self.clean
      })
    let inbox = try inbox(asking: fake.address)
    for number in 0..<100 { try inbox.add("a-\(number)", "text \(number)\n") }
    let run = try inbox.run()
    #expect(run.outcome.status == 0 && run.outcome.attachments.count == 100, "\(run.outcome.err)")
    #expect(desk.asked.count == 100 && desk.asked.values.allSatisfy { $0 == 1 })
    #expect((8...16).contains(desk.most), "\(desk.most) were in hand at once")
    try inbox.checkWhole(run)
  }

  /// The slow one is answered only once all others were.
  @Test func aSlowContentHoldsUpNoOther() throws {
    let desk = Desk()
    let fake = try FakeScanner(
      at: .tcp,
      .answers { content in
        desk.begin(content)
        if content == Array("slow\n".utf8) { _ = desk.wait { $0.answered == 60 } }
        desk.end()
        return Self.clean
      })
    let inbox = try inbox(asking: fake.address)
    for number in 0..<60 { try inbox.add("neighbour-\(number)", "text \(number)\n") }
    try inbox.add("a", "slow\n")
    let run = try inbox.run()
    #expect(run.outcome.status == 0 && run.outcome.attachments.count == 61, "\(run.outcome.err)")
    #expect(desk.asked.values.allSatisfy { $0 == 1 }, "none was asked about again")
    try inbox.checkWhole(run)
  }

  @Test func aKilledWorkerWithSixteenInHandLosesAndDoublesNothing() throws {
    let (desk, folder) = (Desk(), try TemporaryFolder())
    let fake = try FakeScanner(
      at: .unix(folder.path + "/socket"),
      .answers { content in
        desk.begin(content)
        _ = desk.wait(\.isFree)
        desk.end()
        return Self.clean
      })
    let inbox = try inbox(asking: fake.address)
    for number in 0..<40 { try inbox.add("a-\(number)", "text \(number)\n") }
    let underway = try inbox.start()
    #expect(desk.wait { $0.most >= 16 })
    // The worker that connects is the one with a process that does so for it.
    let door = try #require(ScanTests.doors(of: underway.process.processIdentifier).first)
    kill(try ScanTests.parent(of: door), SIGKILL)
    desk.free()
    let run = try underway.end()
    #expect(run.outcome.status == 0 && run.outcome.attachments.count == 40, "\(run.outcome.err)")
    #expect(desk.asked.values.contains { $0 > 1 }, "those in hand were asked about again")
    // One attempt each: that a worker ends costs those none that it is not laid to.
    #expect(try inbox.ledger("SELECT count(*) FROM steps WHERE stage = 'scan'") == "40")
    #expect(try inbox.ledger("SELECT count(*) FROM steps WHERE verdict <> 'pass'") == "0")
    try inbox.checkWhole(run)
  }

  /// `sluice check`, and with it the doors of clamd's clients, ask the same pool.
  @Test func checksAreMadeTogether() throws {
    let (desk, folder) = (Desk(), try TemporaryFolder())
    let fake = try FakeScanner(
      at: .tcp,
      .answers { content in
        desk.begin(content)
        _ = desk.wait { $0.most >= 8 }
        desk.end()
        return Self.clean
      })
    try folder.write(
      "judge.yaml",
      "version: 1\nstages:\n  - use: scan\n    options: { address: \"\(fake.address)\", timeout: 30s }\n")
    let files = (0..<8).map { "a-\($0)" }
    for file in files { try folder.write(file, "text of \(file)\n") }
    let outcome = try SluiceCommand.run(["check", "--config", "judge.yaml"] + files, in: folder)
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
    #expect(desk.most == 8)
  }

  // MARK: A stage that misbehaves

  struct Act: Sendable, CustomTestStringConvertible {
    var name: String
    var status: String
    var code: String?
    /// A part of the reason's message.
    var saying: String

    init(_ name: String, _ status: String, _ code: String? = nil, _ saying: String = "") {
      (self.name, self.status, self.code, self.saying) = (name, status, code, saying)
    }

    var testDescription: String { name }
  }

  static let acts = [
    Act("pass", "completed"), Act("retry", "failed", "juggled", "not today (attempt 2, the last)"),
    Act("reject", "rejected", "juggled", "told in a turn"),
    Act("reject-at-once", "rejected", "juggled", "at once"),
    Act("settle-at-once", "rejected", "juggled", "settled at once"),
    // Of two verdicts the first counts; a verdict on what was never given, or has ended, is dropped.
    Act("twice", "rejected", "juggled", "the first counts"),
    Act("stranger", "completed"), Act("late", "completed"),
    // It is told when its time is over, and drops it, or does not.
    Act("until-told", "rejected", "timed-out", "took more than 1s"),
    Act("never", "rejected", "timed-out", "took more than 1s"),
    Act("hang", "rejected", "timed-out", "took more than 1s"),
    Act("block", "rejected", "timed-out", "took more than 1s"),
    Act("crash", "rejected", "crashed", "SIGABRT"), Act("crash-at-once", "rejected", "crashed", "SIGABRT"),
  ]

  private func juggling(timeout: String = "1s") throws -> Inbox {
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        "- use: juggle\n  timeout: \(timeout)\n  on-crash: reject\n  on-timeout: reject",
        more: "retry: { attempts: 2, backoff: 10ms, max: 50ms }"))
    return inbox
  }

  @Test(arguments: acts)
  func eachMisdeedHasItsNameAndTouchesNoNeighbour(act: Act) throws {
    let inbox = try juggling()
    try inbox.add("a", "juggle \(act.name) 200\n")
    for number in 0..<15 { try inbox.add("neighbour-\(number)", "juggle pass \(100 + number * 40)\n") }
    let run = try inbox.run()
    let record = try run.record("a")
    #expect(record.status == act.status && record.code == act.code, "\(record)")
    #expect(act.saying.isEmpty || record.message.contains(act.saying), "\(record.message)")
    #expect(run.neighbours.count == 15 && run.neighbours.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    #expect(run.neighbours.allSatisfy { $0.metadata["juggle.late"] == nil })
    // Tried again without an attempt that counts.
    #expect(
      try inbox.ledger(
        "SELECT max(number) FROM steps s JOIN attachments a ON a.key = s.attachment_key WHERE file_name LIKE 'neighbour%'"
      )
        == "1")
    try inbox.checkWhole(run)
  }

  /// Those that are never settled are timed out; what is in hand beside them ends as it should.
  @Test func eachHasItsTimeForItself() throws {
    let inbox = try juggling()
    for number in 0..<4 { try inbox.add("a-\(number)", "juggle never\n") }
    for number in 0..<40 { try inbox.add("neighbour-\(number)", "juggle pass 300\n") }
    let run = try inbox.run()
    for number in 0..<4 { #expect(try run.record("a-\(number)").code == "timed-out") }
    #expect(run.neighbours.count == 40 && run.neighbours.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  @Test(arguments: ["until-told", "never"])
  func oneThatIsCancelledEndsAndTheOthersGoOn(act: String) throws {
    let inbox = try juggling(timeout: "1m")
    try inbox.add("a", "juggle \(act)\n")
    try inbox.add("b", "juggle pass 4000\n")
    let underway = try inbox.start()
    try inbox.wait(for: "SELECT count(*) FROM jobs WHERE state = 'leased' AND kind = 'attachment'", "2")
    usleep(500_000)  // until a stage has them, which the ledger does not tell
    let cancelled = try SluiceCommand.run(["cancel", "--name", "a", "--home", "home"], in: inbox.folder)
    #expect(cancelled.out == "1 attachment cancelled\n", "\(cancelled.err)")
    let run = try underway.end()
    #expect(try run.record("a").status == "cancelled")
    let other = try run.record("b")
    #expect(other.isCompleted, "\(other)")
    try inbox.checkWhole(run)
  }
}
