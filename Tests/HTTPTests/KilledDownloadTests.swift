import Foundation
import Glibc
import Platform
import Synchronization
import Testing

/// `kill -9` of the coordinator and its workers at random moments of many transfers: what is on record as fetched is never asked
/// for again, and of what is under way little is fetched twice.
struct KilledDownloadTests {
  private static let isSoak = ProcessInfo.processInfo.environment["SLUICE_SOAK"] != nil

  /// A server of files that counts what it gives of each.
  private final class Files: Sendable {
    private let contents: [String: [UInt8]]
    private let given = Mutex<[String: Int]>([:])
    private let asked = Mutex<[String]>([])

    init(_ contents: [String: [UInt8]]) { self.contents = contents }

    /// The names that were asked for since the last call.
    func takeAsked() -> [String] {
      asked.withLock { asked in
        defer { asked = [] }
        return asked
      }
    }

    func given(_ name: String) -> Int { given.withLock { $0[name] ?? 0 } }

    func server() throws -> Server {
      try Server { [self] request, exchange in
        let name = String(request.path.dropFirst())
        guard let content = contents[name] else { return exchange.answer(404) }
        asked.withLock { $0.append(name) }
        let first = min(request.first ?? 0, content.count)
        if first > 0 && first == content.count {
          return exchange.answer(416, "Content-Range: bytes */\(content.count)")
        }
        let range = "Content-Range: bytes \(first)-\(content.count - 1)/\(content.count)\r\n"
        exchange.send(
          "HTTP/1.1 \(first > 0 ? "206 Partial Content\r\n\(range)" : "200 OK\r\n")ETag: \"\(name)\"\r\n"
            + "Content-Length: \(content.count - first)\r\n\r\n")
        var rest = content[first...]
        while !rest.isEmpty {
          let piece = rest.prefix(256 << 10)
          guard exchange.send(piece) else { return }
          given.withLock { $0[name, default: 0] += piece.count }
          rest = rest.dropFirst(piece.count)
          usleep(2000)
        }
      }
    }
  }

  @Test func whatIsFetchedIsNotAskedForAgain() throws {
    if !Self.isSoak {
      var killed = 0
      while killed < 4 {
        killed += try kill(files: 24, of: 3 << 20, pause: 20_000...200_000, seed: killed, until: .max).killed
      }
      return
    }
    let end = Clock.monotonic() + Self.soakLength
    var (killed, failures, round) = (0, 0, 0)
    while killed < 500 && Clock.monotonic() < end {
      round += 1
      let done = try kill(files: 60, of: 12 << 20, pause: 20_000...400_000, seed: round, until: end)
      (killed, failures) = (killed + done.killed, failures + done.failures)
    }
    SoakTable.row("kill -9 of downloads", tries: killed, failures: failures)
  }

  /// Nanoseconds after which the long version kills no more. What is left is fetched, so that its verdict is of all files.
  private static let soakLength: UInt64 = 200_000_000_000

  /// Kills until all files are fetched, or until a time of the monotonic clock.
  ///
  /// - Returns: how often, and how many checks failed.
  private func kill(
    files count: Int, of most: Int, pause: ClosedRange<UInt32>, seed: Int, until end: UInt64
  ) throws -> (killed: Int, failures: Int) {
    var failures = 0
    func check(_ isRight: Bool, _ text: @autoclosure () -> String) {
      #expect(isRight, "\(text())")
      if !isRight { failures += 1 }
    }
    var random = SplitMix(state: UInt64(seed))
    var contents: [String: [UInt8]] = [:]
    for number in 0..<count {
      contents["f\(number)"] = sample(Int.random(in: 1000...most, using: &random), seed: UInt64(number))
    }
    let files = Files(contents)
    let server = try files.server()
    // Each worker that is killed costs what it had in hand an attempt.
    let home = try Home(lane: "per-host: 8", attempts: 100)
    let lines = contents.keys.sorted().map { name in
      #"{"url":"\#(server.url("/" + name))","conversationId":"c","messageId":"\#(name)","senderId":"ann","fileName":"\#(name)"}"#
    }
    var finished: Set<String> = []
    var killed = 0
    while killed == 0 || finished.count < count && killed < 200 && Clock.monotonic() < end {
      try home.run()
      if killed == 0 {
        let queued = try home.sluice(["enqueue", "--manifest", "-"], input: lines.joined(separator: "\n"))
        #expect(queued.status == 0, "\(queued.errors)")
      }
      // On a machine that has much else to do, little comes in that time, and a worker that is killed again and again ends what it
      // fetches.
      usleep(UInt32.random(in: pause, using: &random) * UInt32(1 + killed / 20))
      if Bool.random(using: &random), let worker = home.workers.randomElement(using: &random) {
        Glibc.kill(worker, SIGKILL)
        usleep(UInt32.random(in: 0...50_000, using: &random))
      }
      home.kill()
      killed += 1
      let again = files.takeAsked().filter(finished.contains)
      check(again.isEmpty, "asked for again: \(again)")
      finished.formUnion(
        try home.records("downloads", "--state", "fetched").compactMap { $0["fileName"] as? String })
    }
    let last = try home.sluice("ingest", "--manifest", "/dev/null")
    check(last.status == 0, last.errors)
    let again = files.takeAsked().filter(finished.contains)
    check(again.isEmpty, "asked for again at last: \(again)")
    let completed = try home.count("completed")
    check(completed == count, "\(completed) of \(count) are completed")
    let verified = try home.sluice("verify")
    check(verified.status == 0, verified.errors)
    for record in try home.records("list") {
      let name = try #require(record["fileName"] as? String)
      let hash = try SHA256()
      hash.begin()
      contents[name]?.withUnsafeBytes { hash.add($0) }
      check(record["sha256"] as? String == Hexadecimal.text(hash.finish()), "\(name) has another content")
    }
    // A transfer in hand loses what came since its last checkpoint, 8 MiB at most, and what its connection held.
    let twice = contents.mapValues(\.count).map { max(files.given($0.key) - $0.value, 0) }
    check(twice.reduce(0, +) <= killed * 8 * (12 << 20), "\(twice.reduce(0, +)) bytes came twice")
    check(twice.allSatisfy { $0 <= killed * (12 << 20) }, "of one file \(twice.max() ?? 0) bytes came twice")
    print(
      "killed \(killed) times: \(twice.reduce(0, +) >> 10) KiB of \(contents.reduce(0) { $0 + $1.value.count } >> 10) came twice"
    )
    return (killed, failures)
  }
}
