import Foundation
import Glibc
import Testing
import Wire

/// Hold, stop, kill and a full disk.
@Suite(.serialized)
struct ControlTests {
  @Test func aTransferThatIsHeldTakesNothingAndGoesOn() throws {
    let content = sample(40 << 20)
    let server = try Server { request, exchange in
      if request.path == "/urgent" { return exchange.answer(200, [], sample(1000)) }
      exchange.limitSending(to: 64 << 10)
      exchange.answer(200, ["ETag: \"a\""], content)
    }
    var options = SourceWorker.Options()
    options.connections = 2
    options.rate = 20 << 20
    options.idleTimeout = 500
    let worker = try SourceWorker(options)
    let serials = try (0..<2).map { _ in try worker.give(server.url("/")) }
    try worker.listen(within: 10) { server.bodyBytes > 4 << 20 }
    for serial in serials { worker.order(serial, .hold) }
    // What the kernel's buffers hold.
    usleep(1_500_000)
    let before = server.bodyBytes
    // Longer than the idle time, which does not count.
    usleep(800_000)
    #expect(server.bodyBytes == before, "nothing is read")
    #expect(before < 2 * content.count)
    // They take no place of an urgent one.
    #expect(try worker.fetch(server.url("/urgent")).holds(sample(1000)))
    for serial in serials { worker.order(serial, .goOn) }
    for serial in serials {
      let fetched = try worker.result(of: serial)
      #expect(fetched.summary == "pass", "\(fetched.message)")
      #expect(fetched.holds(content))
    }
  }

  @Test func aTransferThatIsHeldBeforeItsAnswerGoesOn() throws {
    let server = try Server { _, exchange in
      usleep(500_000)
      exchange.answer(200, ["ETag: \"a\"", "Content-Type: a/b"], sample(1 << 20))
    }
    let worker = try SourceWorker()
    let serial = try worker.give(server.url("/"))
    try worker.listen(within: 5) { server.requests.count == 1 }
    worker.order(serial, .hold)
    try? worker.listen(within: 1) { false }
    #expect(worker.received[serial]?.last ?? 0 == 0)
    worker.order(serial, .goOn)
    let fetched = try worker.result(of: serial)
    #expect(fetched.holds(sample(1 << 20)), "\(fetched.message)")
    #expect(fetched.metadata["contentType"] == "a/b")
  }

  @Test func aTransferThatIsHeldBeforeItBeginsWaits() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(1000)) }
    var options = SourceWorker.Options()
    options.connections = 1
    let worker = try SourceWorker(options)
    let first = try worker.give(server.url("/"))
    worker.order(first, .hold)
    #expect(try worker.fetch(server.url("/")).summary == "pass")
    worker.order(first, .goOn)
    #expect(try worker.result(of: first).holds(sample(1000)))
  }

  @Test func aTransferThatIsStoppedKeepsWhatCame() throws {
    let content = sample(4 << 20)
    let server = try Server { _, exchange in
      exchange.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: \(content.count)\r\n\r\n")
      exchange.send(content.prefix(1 << 20))
      usleep(2_000_000)
    }
    let worker = try SourceWorker()
    let serial = try worker.give(server.url("/"))
    try worker.listen(within: 10) { worker.received[serial]?.last == 1 << 20 }
    worker.order(serial, .stop)
    let fetched = try worker.result(of: serial, within: 5)
    #expect(fetched.summary == "retry stopped")
    #expect(
      fetched.checkpoints.last == TransferProgress(bytes: 1 << 20, total: 4 << 20, etag: "\"a\""))
    #expect(fetched.holds(Array(content.prefix(1 << 20))))
    // One that waits has nothing to keep.
    #expect(try worker.fetch(server.url("/")) { $0.limit = 1 }.summary == "reject too-large-to-fetch")
  }

  @Test func aSlowTransferIsCheckpointedEveryTwoSecondsAndToldFourTimesASecond() throws {
    let server = try Server { _, exchange in
      exchange.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 4500\r\n\r\n")
      for _ in 0..<45 {
        exchange.send(sample(100))
        usleep(100_000)
      }
    }
    let begun = Date()
    let fetched = try SourceWorker().fetch(server.url("/"))
    // 4.5 on a machine that does nothing else.
    let seconds = Int(-begun.timeIntervalSinceNow)
    #expect(fetched.summary == "pass")
    #expect((2...seconds / 2 + 2).contains(fetched.checkpoints.count), "\(fetched.checkpoints)")
    let told = fetched.received.count
    #expect((5...seconds * 4 + 4).contains(told), "\(told) in \(seconds) s")
    #expect(zip(fetched.received, fetched.received.dropFirst()).allSatisfy { $0 < $1 })
  }

  /// Fifty transfers whose worker is killed again and again end right, and no more than 8 MiB of each is fetched twice.
  @Test func aKilledWorkerCostsAtMostWhatWasNotCheckpointed() throws {
    let (count, size) = (16, 10 << 20)
    let pool = sample(size + count * 1000)
    let sent = Counters(count)
    let server = try Server { request, exchange in
      let index = Int(request.path.dropFirst()) ?? 0
      let content = pool[(index * 1000)..<(index * 1000 + size)]
      let first = request.headers["if-range"] == "\"\(index)\"" ? request.first ?? 0 : 0
      exchange.limitSending(to: 64 << 10)
      let range = first > 0 ? ["Content-Range: bytes \(first)-\(size - 1)/\(size)"] : []
      exchange.send(
        "HTTP/1.1 \(first > 0 ? 206 : 200) x\r\nETag: \"\(index)\"\r\nContent-Length: \(size - first)\r\n"
          + range.map { $0 + "\r\n" }.joined() + "\r\n")
      var place = content.startIndex + first
      while place < content.endIndex {
        let piece = content[place..<min(place + (64 << 10), content.endIndex)]
        guard exchange.send(piece) else { return }
        sent.add(piece.count, to: index)
        place += piece.count
      }
    }
    var options = SourceWorker.Options()
    (options.connections, options.perHost, options.rate) = (50, 50, 40 << 20)
    var progress = [TransferProgress](repeating: TransferProgress(bytes: 0), count: count)
    var isDone = [Bool](repeating: false, count: count)
    let folder = NSTemporaryDirectory() + "sluice-kill-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var lives = 0
    while isDone.contains(false), lives < 30 {
      lives += 1
      let worker = try SourceWorker(options)
      var serials: [Int: UInt64] = [:]
      for index in 0..<count where !isDone[index] {
        serials[index] = try worker.give(
          server.url("/\(index)"), file: "../\((folder as NSString).lastPathComponent)/\(index)"
        ) {
          $0.start = progress[index]
        }
      }
      let life = lives > 6 ? 60 : Double.random(in: 0.2...1.2)
      let end = Date(timeIntervalSinceNow: life)
      // Not an error: it is killed while it works.
      try? worker.listen(within: life) { Date() > end || serials.values.allSatisfy { worker.hasEnded($0) } }
      worker.process.kill()
      try? worker.listen(within: 1) { false }
      for (index, serial) in serials {
        progress[index] = worker.checkpoints[serial]?.last ?? progress[index]
        if worker.hasEnded(serial) {
          let fetched = try worker.result(of: serial)
          #expect(fetched.summary == "pass", "\(fetched.message)")
          isDone[index] = fetched.verdict == .pass
        }
      }
    }
    #expect(!isDone.contains(false))
    #expect(lives > 3, "it was killed \(lives - 1) times")
    for index in 0..<count {
      let content = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(index)"))
      #expect(content == Data(pool[(index * 1000)..<(index * 1000 + size)]))
      let twice = sent.value(index) - size
      #expect(
        twice <= (lives - 1) * (8 << 20), "\(twice) bytes of \(index) were sent twice in \(lives) lives")
    }
  }

  @Test(.enabled(if: SmallDisk.isPossible))
  func aFullDiskPausesTheLaneAndKeepsWhatIsSynced() throws {
    let disk = try SmallDisk("3m")
    let content = sample(8 << 20)
    let server = try Server { _, exchange in exchange.answer(200, ["ETag: \"a\""], content) }
    let worker = try SourceWorker()
    let name = "../\((disk.path as NSString).lastPathComponent)/file"
    let fetched = try worker.fetch(server.url("/"), file: name)
    #expect(fetched.summary == "retry disk-full", "\(fetched.message)")
    #expect(fetched.pauses)
    #expect(fetched.content.isEmpty, "what is not synced gives its room back")
  }
}

/// Counts per transfer.
///
/// Unchecked because the lock guards the counts.
private final class Counters: @unchecked Sendable {
  private let lock = NSLock()
  private var values: [Int]

  init(_ count: Int) {
    values = [Int](repeating: 0, count: count)
  }

  func add(_ count: Int, to index: Int) { lock.withLock { values[index] += count } }
  func value(_ index: Int) -> Int { lock.withLock { values[index] } }
}

/// A small file system in memory. Only root may mount.
private final class SmallDisk {
  let path: String

  init(_ size: String) throws {
    path = NSTemporaryDirectory() + "sluice-disk-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    if mount("tmpfs", path, "tmpfs", 0, "size=\(size)") != 0 {
      throw Server.Failure(call: "mount")
    }
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
    rmdir(path)
  }

  /// Determined by trying.
  static let isPossible: Bool = geteuid() == 0 && (try? SmallDisk("64k")) != nil
}
