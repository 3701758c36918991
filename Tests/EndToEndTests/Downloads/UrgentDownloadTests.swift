import Foundation
import Testing

/// A link that is wanted before all others: it is asked for at once, and the others stand still until it has ended.
@Suite(.serialized)
struct UrgentDownloadTests {
  /// Eight are under way; of 24, others are in hand and wait for their turn.
  @Test(arguments: [8, 24])
  func anUrgentLinkIsAskedForAtOnceAndAllOthersStandStill(count: Int) throws {
    // Other tests have the processors as well.
    try BusyLine(count, size: 300_000_000 / count, rate: 60_000_000)
      .fetchThreeNow(pause: 1000, settling: 0.5, limit: 0.5)
  }

  @Test func theOthersGoOnHoweverTheUrgentOneEnds() throws {
    let line = try BusyLine(8, size: 12_000_000, rate: 30_000_000)
    #expect(try line.failNow("/missing/a") == 0)
    #expect(try line.failNow("/reset/a") == 0)
    #expect(try line.finish() == 0)
  }
}

/// The long version, for `make soak`.
@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct UrgentDownloadSoakTests {
  @Test(arguments: [8, 24])
  func anUrgentLinkIsAskedForWithinFiftyMilliseconds(count: Int) throws {
    try BusyLine(count, size: 300_000_000 / count, rate: 150_000_000)
      .fetchThreeNow(pause: 200, settling: 0.05, limit: 0.05)
  }

  @Test(arguments: ["/missing/", "/reset/"])
  func theOthersGoOnHoweverOftenAnUrgentOneFails(path: String) throws {
    let line = try BusyLine(8, size: 100_000_000, rate: 20_000_000)
    var failures = 0
    for round in 1...100 { failures += try line.failNow("\(path)\(round)") }
    failures += try line.finish()
    Soak.row("an urgent link fails while others are fetched", tries: 100, failures: failures)
  }
}

/// Transfers under way, eight at once, and urgent ones beside them.
private final class BusyLine {
  /// What became of an urgent link.
  struct Run {
    var status: Int32
    /// Seconds from the moment in which the coordinator wrote it down, which its id tells to the millisecond, until the server was
    /// asked for it.
    var delay: Double
    /// Bytes of the others that were written while it was under way.
    var fileGrowth: Int
    /// Bytes of the others that the server's kernel took meanwhile.
    var sentGrowth: Int
  }

  private let home: DownloadHome
  private let server: ContentServer
  private let coordinator: Resident
  private let others: [String]
  /// Of their transfers.
  private var keys: Set<Int> = []

  init(_ count: Int, size: Int, rate: Int = 0) throws {
    home = try DownloadHome([
      "connections: 8", "per-host: 8", "retry: { attempts: 2, backoff: 20ms, max: 50ms }",
    ])
    server = try ContentServer(rate: rate)
    coordinator = try Resident(home.folder)
    others = (1...count).map { "/content/\(size)/other-\($0)" }
    try home.enqueue(others, at: server.url)
    try Resident.wait("eight are under way") {
      self.others.count { self.server.bytes(of: [$0]) > 500_000 } >= 8
    }
    keys = Set(try home.downloads().map(\.key))
    #expect(keys.count > count - 4, "\(keys.count) are left")
  }

  private func start(_ path: String, pause: Int) throws -> Process {
    try SluiceCommand.start(
      [
        "fetch", "--now", "--format", "json", "--name", "now", "--home", "home",
        server.url + path + "?pause=\(pause)",
      ],
      in: home.folder, out: home.folder.path + "/now.out", err: home.folder.path + "/now.err")
  }

  /// Fetches three links, each before all others.
  ///
  /// - Parameters:
  ///   - pause: milliseconds that the server lets pass before it answers.
  ///   - settling: seconds after which the orders to stand still have been read.
  ///   - limit: seconds after which the server has been asked, at the median.
  func fetchThreeNow(pause: Int, settling: Double, limit: Double) throws {
    var delays: [Double] = []
    for round in 1...3 {
      let run = try fetchNow("/content/4000000/now-\(round)", pause: pause, settling: settling)
      #expect(run.status == 0)
      delays.append(run.delay)
      // Nothing comes once the urgent one is asked for, and the orders to stand still have been read.
      #expect(run.fileGrowth == 0, "\(run.fileGrowth) bytes of others came")
      // What the kernel holds for the connections of those that stand still.
      #expect(run.sentGrowth < 100 << 20, "\(run.sentGrowth) bytes of others were sent")
    }
    #expect(delays.sorted()[1] < limit, "asked for after \(delays) s")
    #expect(try finish() == 0)
  }

  /// Fetches a link before all others, and watches the others meanwhile.
  private func fetchNow(_ path: String, pause: Int, settling: Double) throws -> Run {
    let process = try start(path, pause: pause)
    var samples: [(time: Double, files: [Int: Int], sent: Int, isActive: Bool)] = []
    var asked: Double?
    while process.isRunning {
      asked = asked ?? server.requests(of: path).first?.time
      samples.append(
        (
          Date().timeIntervalSince1970, sizes(), server.bytes(of: others),
          server.bytes(of: [path]) < ContentServer.size(of: path) ?? 0
        ))
      usleep(2_000)
    }
    let out = try home.folder.read("now.out")
    let id = try #require(Printed.records(Printed.Attachment.self, in: out).first?.id, "\(out)")
    let begin = try #require(asked)
    let during = samples.filter { $0.time > begin + settling && $0.isActive }
    #expect(during.count > 10, "it was watched \(during.count) times")
    #expect(
      server.bytes(of: others) < others.reduce(0) { $0 + (ContentServer.size(of: $1) ?? 0) }, "they were busy"
    )
    return Run(
      status: process.terminationStatus, delay: begin - Self.time(of: id),
      fileGrowth: (during.last?.files ?? [:]).reduce(0) { sum, file in
        sum + max(file.value - (during.first?.files[file.key] ?? 0), 0)
      },
      sentGrowth: (during.last?.sent ?? 0) - (samples.first { $0.time >= begin }?.sent ?? 0))
  }

  /// Of the files of the others, by their keys.
  private func sizes() -> [Int: Int] {
    var sizes: [Int: Int] = [:]
    for (key, facts) in home.partials() where keys.contains(key) { sizes[key] = Int(facts.st_size) }
    return sizes
  }

  /// Wants a link before all others that cannot be had, and sees that the others go on. Returns how many checks failed.
  func failNow(_ path: String) throws -> Int {
    let process = try start(path, pause: 20)
    process.waitUntilExit()
    let wasAsked = !server.requests(of: path).isEmpty
    let errors = try home.folder.read("now.err")
    #expect(process.terminationStatus == 1 && wasAsked, "\(path): \(errors)")
    let before = home.partialBytes(of: keys)
    try Resident.wait("the others go on after \(path)", seconds: 5) {
      self.home.partialBytes(of: self.keys) > before
    }
    return process.terminationStatus == 1 && wasAsked ? 0 : 1
  }

  /// Lets the others come to their ends, and checks them. Returns how many checks failed.
  func finish() throws -> Int {
    server.setRate(0)
    var failures = try home.checkCompleted(others)
    for path in others {
      let again = server.bytes(of: [path]) - (ContentServer.size(of: path) ?? 0)
      #expect(again <= 8 << 20, "\(path): \(again) bytes were sent twice")
      if again > 8 << 20 { failures += 1 }
    }
    #expect(coordinator.stop() == 0, "\(coordinator.errors)")
    return failures
  }

  /// The time in a UUID of version 7 (RFC 9562, section 5.7), in seconds since 1970.
  private static func time(of id: String) -> Double {
    Double(UInt64(id.filter { $0 != "-" }.prefix(12), radix: 16) ?? 0) / 1000
  }
}
