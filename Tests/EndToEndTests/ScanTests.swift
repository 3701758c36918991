import Foundation
import Testing

/// The stage that asks ClamAV's daemon, with the real daemon and with fakes.
@Suite(.serialized)
struct ScanTests {
  // MARK: The real daemon

  @Test(.enabled(if: Clamd.isInstalled, .init(rawValue: Clamd.skipped)), arguments: ["unix", "tcp"])
  func cleanContentCompletesAndAVirusIsRejectedByName(way: String) throws {
    let clamd = try Clamd()
    let inbox = try inbox(asking: way == "unix" ? clamd.unix : clamd.tcp)
    try inbox.add("clean", "Dear Ben, …\n")
    try inbox.folder.write("in/empty", Data())
    try inbox.folder.write("in/large", Self.noise(3_000_000))
    try inbox.add("virus", Clamd.eicar)
    try inbox.folder.write("in/deep", Self.noise(1_000_001) + Data(Clamd.eicar.utf8) + Self.noise(500_000))
    let run = try inbox.run()
    #expect(run.outcome.status == 1, "\(run.outcome.err)")
    for name in ["clean", "empty", "large"] {
      let record = try run.record(name)
      #expect(record.status == "completed", "\(record)")
      #expect(record.metadata["scan.result"] == "clean")
      #expect(record.metadata["scan.engine"]?.asText?.hasPrefix("ClamAV ") == true)
    }
    for name in ["virus", "deep"] {
      let record = try run.record(name)
      #expect(record.status == "rejected" && record.code == "virus-found", "\(record)")
      #expect(record.message == "the scanner found \(Clamd.signature)")
      #expect(record.metadata["scan.result"] == "infected")
      #expect(record.metadata["scan.signature"] == .text(Clamd.signature))
    }
    try checkWhole(inbox, run)
  }

  @Test(.enabled(if: Clamd.isInstalled, .init(rawValue: Clamd.skipped)), arguments: ["unix", "tcp"])
  func whatArrivesWhileTheDaemonIsAwayCompletesOnceItIsBack(way: String) throws {
    let clamd = try Clamd()
    clamd.stop()
    // One attempt: that nobody listens is not the content's doing.
    let inbox = try inbox(asking: way == "unix" ? clamd.unix : clamd.tcp, attempts: 1)
    try inbox.add("clean", "Dear Ben, …\n")
    try inbox.add("virus", Clamd.eicar)
    let paused = try inbox.start().end().outcome
    #expect(paused.status == 75 && paused.err.contains("scanner-unavailable"), "\(paused.err)")
    #expect(paused.attachments.isEmpty, "none has ended")
    try clamd.start()
    let run = try inbox.start().end()
    #expect(try run.record("clean").status == "completed", "\(run.outcome.err)")
    #expect(try run.record("virus").code == "virus-found", "\(run.outcome.err)")
    try checkWhole(inbox, run)
  }

  @Test(.enabled(if: Clamd.isInstalled, .init(rawValue: Clamd.skipped)))
  func aDaemonThatHangsIsAskedAgain() throws {
    let clamd = try Clamd()
    let inbox = try inbox(asking: clamd.unix, attempts: 100)
    try inbox.add("clean", "Dear Ben, …\n")
    clamd.suspend()
    let underway = try inbox.start()
    try waitForRetries(2, in: inbox, saying: "the scanner did not answer in time")
    clamd.resume()
    let run = try underway.end()
    #expect(try run.record("clean").status == "completed", "\(run.outcome.err)")
    try checkWhole(inbox, run)
  }

  @Test(
    .enabled(if: Clamd.isInstalled, .init(rawValue: Clamd.skipped)),
    arguments: [("reject", "rejected"), ("fail", "failed"), ("pass", "completed")])
  func contentOverTheDaemonsLimitIsTreatedAsThePipelineSaysAndReported(
    remedy: String, status: String
  ) throws {
    // With this setting clamd reports skipped content; otherwise it replies "OK".
    let clamd = try Clamd("StreamMaxLength 1M", "MaxFileSize 100K", "AlertExceedsMax yes")
    for address in [clamd.unix, clamd.tcp] {
      let inbox = try inbox(asking: address, "too-large: \(remedy)")
      try inbox.folder.write("in/over-stream", Self.noise(8 << 20))
      try inbox.folder.write("in/over-file", Self.noise(200 << 10))
      try inbox.add("within", "Dear Ben, …\n")
      let run = try inbox.run()
      #expect(try run.record("within").metadata["scan.result"] == "clean")
      for (name, limit) in [("over-stream", "StreamMaxLength"), ("over-file", "MaxFileSize")] {
        let record = try run.record(name)
        #expect(record.status == status, "\(record) \(run.outcome.err)")
        #expect(record.metadata["scan.result"] == "not-scanned")
        #expect(record.metadata["scan.reason"] == "too-large-to-scan")
        #expect(record.metadata["scan.limit"]?.asText?.hasSuffix(limit) == true)
        if remedy == "pass" { continue }
        #expect(record.code == "too-large-to-scan")
        #expect(record.message.contains(limit), "\(record.message)")
      }
      try checkWhole(inbox, run)
    }
  }

  // MARK: Fake daemons

  struct Trick: CustomTestStringConvertible {
    var testDescription: String
    var manner: FakeScanner.Manner
    var code = "scanner-unavailable"
    var saying = "the scanner's answer is none of clamd's"
    /// More than sockets buffer, so that sending depends on the other side reading.
    var isLarge = false
  }

  static let clean = Array("stream: OK\0".utf8)
  static let tricks = [
    Trick(testDescription: "hangs up at once", manner: .hangsUp(after: 0), saying: "without an answer"),
    Trick(testDescription: "hangs up midway", manner: .hangsUp(after: 70_000), saying: "without an answer"),
    Trick(testDescription: "says nothing", manner: .isSilent, saying: "did not answer in time"),
    Trick(
      testDescription: "reads nothing", manner: .readsNothing, saying: "took no more in time", isLarge: true),
    Trick(testDescription: "takes no connection", manner: .takesNothing, saying: ""),
    Trick(testDescription: "drips", manner: .drips(clean, pause: 100_000), saying: "not answer in time"),
    Trick(
      testDescription: "answers early", manner: .answersEarly(clean), saying: "before it had all",
      isLarge: true),
    Trick(
      testDescription: "finds early", manner: .answersEarly(Array("stream: X FOUND\0".utf8)),
      saying: "before it had all", isLarge: true),
    Trick(
      testDescription: "1 MB", manner: .answers { _ in [UInt8](repeating: 0x41, count: 1 << 20) },
      saying: "longer than 4096 bytes"),
    Trick(
      testDescription: "1 MB after OK",
      manner: .answers { _ in clean + [UInt8](repeating: 0, count: 1 << 20) },
      saying: "longer than 4096 bytes"),
    Trick(
      testDescription: "answers all with OK", manner: .answersEverything(clean), saying: "before it had all",
      isLarge: true),
    Trick(testDescription: "nothing", manner: .answers { _ in [] }, saying: "without an answer"),
    Trick(testDescription: "NUL", manner: .answers { _ in [0] }),
    Trick(testDescription: "no NUL", manner: .answers { _ in Array("stream: OK".utf8) }),
    Trick(testDescription: "a newline", manner: .answers { _ in Array("stream: OK\n".utf8) }),
    Trick(testDescription: "two answers", manner: .answers { _ in clean + clean }),
    Trick(testDescription: "another name", manner: .answers { _ in Array("/tmp/x: OK\0".utf8) }),
    Trick(testDescription: "a space more", manner: .answers { _ in Array("stream: OK \0".utf8) }),
    Trick(testDescription: "lower case", manner: .answers { _ in Array("stream: ok\0".utf8) }),
    Trick(testDescription: "no name found", manner: .answers { _ in Array("stream:  FOUND\0".utf8) }),
    Trick(testDescription: "PONG", manner: .answers { _ in Array("PONG\0".utf8) }),
    Trick(testDescription: "HTTP", manner: .answers { _ in Array("HTTP/1.1 200 OK\r\n\r\n".utf8) }),
    Trick(
      testDescription: "an error",
      manner: .answers { _ in Array("stream: Can't allocate memory ERROR\0".utf8) },
      code: "scanner-error", saying: "the scanner reports: stream: Can't allocate memory"),
  ]

  @Test(arguments: tricks, ["unix", "tcp"])
  func noOtherAnswerPassesAndNoneTakesLong(trick: Trick, way: String) throws {
    let place = try TemporaryFolder()
    let fake = try FakeScanner(
      at: way == "unix" ? .unix(place.path + "/socket") : .tcp, trick.manner)
    let inbox = try inbox(asking: fake.address, "timeout: 400ms", attempts: 2)
    try inbox.folder.write("in/a", Self.noise(trick.isLarge ? 20 << 20 : 200_000))
    let began = Date()
    let run = try inbox.run()
    #expect(Date().timeIntervalSince(began) < 200)
    let record = try run.record("a")
    #expect(record.status == "failed" && record.code == trick.code, "\(record)")
    #expect(trick.saying.isEmpty || record.message.contains(trick.saying), "\(record.message)")
    #expect(record.message.hasSuffix("(attempt 2, the last)"), "\(record.message)")
    #expect(record.metadata["scan.result"] == nil)
    try checkWhole(inbox, run)
  }

  @Test func aNameFromTheNetworkIsMadeHarmless() throws {
    let name = "\u{1B}[31mRed\r\n\u{202E}\"x" + String(repeating: "y", count: 2000)
    let fake = try FakeScanner(at: .tcp, .answers { _ in Array("stream: \(name) FOUND\0".utf8) })
    let inbox = try inbox(asking: fake.address)
    try inbox.add("a", "text")
    let record = try inbox.run().record("a")
    #expect(record.status == "rejected" && record.code == "virus-found")
    #expect(record.message.hasPrefix("the scanner found ?[31mRed?????\"xyyy"), "\(record.message)")
    #expect(record.message.utf8.count < 250)
    #expect(record.message.utf8.allSatisfy { 0x20...0x7E ~= $0 })
    #expect(record.metadata["scan.signature"] == .text(String(record.message.dropFirst(18))))
  }

  /// Each attachment names the reply it gets. A reply that differs from "stream: OK" in any way is no pass.
  @Test func noMutatedAnswerPasses() throws {
    var random = Random(state: 0x5EED)
    let seeds = ["stream: OK\0", "stream: Some.Name FOUND\0", "stream: trouble ERROR\0"].map {
      Array($0.utf8)
    }
    let answers = (0..<600).map { number in
      number < seeds.count ? seeds[number] : Self.mutation(of: seeds[number % seeds.count], by: &random)
    }
    let fake = try FakeScanner(
      at: .tcp,
      .answers { content in answers[Int(String(decoding: content, as: UTF8.self)) ?? 0] })
    let inbox = try inbox(asking: fake.address)
    for number in answers.indices { try inbox.add("answer-\(number)", "\(number)") }
    let run = try inbox.run()
    let records = run.outcome.attachments
    #expect(Set(records.map(\.fileName)).count == answers.count)
    var statuses: [String: Int] = [:]
    for record in records {
      let number = try #require(Int(record.fileName.dropFirst("answer-".count)))
      let answer = answers[number]
      statuses[record.status, default: 0] += 1
      let text = String(decoding: answer, as: UTF8.self)
      let wanted =
        answer == Self.clean ? "completed" : Self.namesAVirus(answer) ? "rejected" : "failed"
      #expect(record.status == wanted, "\(text.debugDescription): \(record)")
      #expect(record.message.utf8.count < 400)
      #expect(record.message.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "\(record.message.debugDescription)")
    }
    #expect(statuses["failed", default: 0] > 300 && statuses["rejected", default: 0] > 20, "\(statuses)")
    try checkWhole(inbox, run)
  }

  // MARK: The sandbox

  /// The stage's own connections come from a process that was started before the sandbox closed.
  @Test func aWorkerWithTheNetworkReachesNoUnixSocket() throws {
    let folder = try TemporaryFolder()
    let fake = try FakeScanner(at: .unix(folder.path + "/socket"), .isSilent)
    try folder.write("a", String(fake.address.dropFirst("unix:".count)))
    let outcome = try SluiceCommand.run(
      ["stages", "run", "unix-socket", "a"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
    #expect(outcome.out.hasPrefix("pass"), "\(outcome.out)")
  }

  /// A killed worker takes its connecting process with it, and the next worker starts its own.
  @Test func theProcessThatConnectsEndsWithItsWorker() throws {
    let folder = try TemporaryFolder()
    let fake = try FakeScanner(at: .unix(folder.path + "/socket"), .isSilent)
    let inbox = try inbox(asking: fake.address, "timeout: 1h", attempts: 3)
    try inbox.add("a", "text")
    let underway = try inbox.start()
    try inbox.waitForWork()
    let coordinator = underway.process.processIdentifier
    waitBriefly(5) { Self.doors(of: coordinator) != [] }
    let door = try #require(Self.doors(of: coordinator).first)
    kill(try Self.parent(of: door), SIGKILL)
    waitBriefly(5) { ![[], [door]].contains(Self.doors(of: coordinator)) }
    #expect(Self.doors(of: coordinator).count == 1 && Self.doors(of: coordinator) != [door])
    kill(coordinator, SIGKILL)
    _ = try underway.end()
    #expect(noneIsLeft(of: coordinator))
  }

  // MARK: Around

  private func inbox(asking address: String, _ more: String..., attempts: Int = 1) throws -> Inbox {
    let inbox = try Inbox()
    let options = ["address: \"\(address)\"", "timeout: 1s", "retry-after: 50ms"]
      .filter { option in !more.contains { $0.prefix { $0 != ":" } == option.prefix { $0 != ":" } } }
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        """
        - use: scan
          options: { \((options + more).joined(separator: ", ")) }
        """, more: "retry: { attempts: \(attempts), backoff: 50ms, max: 200ms }"))
    return inbox
  }

  /// Waits for attempts that failed for this reason.
  private func waitForRetries(_ count: Int, in inbox: Inbox, saying reason: String) throws {
    let query = """
      SELECT count(*) FROM steps
      WHERE verdict = 'retry' AND code = 'scanner-unavailable' AND message LIKE '%\(reason)%'
      """
    try Resident.wait("it is tried again") {
      // There is no ledger yet when the ingest starts.
      (try? inbox.ledger(query)).flatMap { $0 }.flatMap { Int($0) } ?? 0 >= count
    }
  }

  /// The connecting process ends a moment after its worker.
  private func checkWhole(_ inbox: Inbox, _ run: Inbox.Run) throws {
    #expect(noneIsLeft(of: run.pid))
    try inbox.checkWhole(run)
  }

  private func noneIsLeft(of coordinator: Int32) -> Bool {
    for _ in 0..<6000 {
      if Inbox.workers(of: coordinator) == [] { return true }
      usleep(10_000)
    }
    return false
  }

  /// The connecting processes of a coordinator's workers.
  static func doors(of coordinator: Int32) -> [Int32] {
    Inbox.workers(of: coordinator).filter {
      let name = FileManager.default.contents(atPath: "/proc/\($0)/comm") ?? Data()
      return String(decoding: name, as: UTF8.self) == "sluice-door\n"
    }
  }

  static func parent(of pid: Int32) throws -> Int32 {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("PPid:") })
    return try #require(Int32(line.dropFirst(5).trimmingCharacters(in: .whitespaces)))
  }

  /// Random bytes without meaning for a scanner.
  private static func noise(_ count: Int) -> Data {
    var random = Random(state: UInt64(count))
    let piece = Data((0..<65_521).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) })
    var data = Data(capacity: count + piece.count)
    while data.count < count { data.append(piece) }
    return data.prefix(count)
  }

  private static func mutation(of seed: [UInt8], by random: inout Random) -> [UInt8] {
    var answer = seed
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let place = Int.random(in: 0...answer.count, using: &random)
      let byte = UInt8.random(in: 0...255, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: answer.insert(byte, at: place)
      case 1: answer = Array(answer[..<place])
      case 2: answer.insert(contentsOf: answer[..<place], at: place)
      case 3 where place < answer.count: answer.remove(at: place)
      default: if place < answer.count { answer[place] ^= 1 << (byte & 7) }
      }
    }
    return answer
  }

  /// "stream: NAME FOUND" and one NUL, at the end.
  private static func namesAVirus(_ answer: [UInt8]) -> Bool {
    let (start, end) = (Array("stream: ".utf8), Array(" FOUND\0".utf8))
    return answer.starts(with: start) && answer.suffix(end.count).elementsEqual(end)
      && answer.count > start.count + end.count && answer.count { $0 == 0 } == 1
  }
}

/// The same numbers each time (xorshift64).
private struct Random: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
