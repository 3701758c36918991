import Glibc
import StageKit

/// Fetches links that it answers itself: https://lines.example/1000 has a thousand lines. A source for a service has
/// connections, which `turn` waits for, and reads from them where this one makes its lines.
struct Greeting: Source {
  static let about = About(
    id: "greeting", version: "0.1.0", summary: "Fetches lines that it makes itself.",
    capability: .network, role: .source,
    codes: [
      "unknown-link": "The link is none of this source's.",
      "too-large": "The content has more bytes than are allowed.",
      "unwritable": "The system cannot write or sync the file.",
      "stopped": "The transfer cannot go on now; what came is kept.",
    ])

  static let word = Option<String>.text("word", default: "hello", help: "The word that each line begins with.")
  static let rate = Option<Int64>.bytes(
    "rate", default: "64MB", help: "Bytes that a transfer gets in a second."
  ).within(1024...1 << 30)
  static let options: [any OptionDeclaration] = [word, rate]

  /// Bytes of a piece, and those after which they are synced.
  private static let piece = 64 << 10
  private static let syncBytes: Int64 = 8 << 20
  /// Milliseconds after which they are synced, and between two words to those who look on.
  private static let syncTime: Int64 = 2000
  private static let tellTime: Int64 = 250

  /// A transfer under way. Times are milliseconds, as `now` counts them.
  private struct Underway {
    let transfer: Transfer
    let size: Int64
    var offset: Int64
    var synced: Int64
    var syncedAt: Int64
    var toldAt: Int64 = 0
    /// Where and when it began, or went on: what it may have by now follows from that.
    var began: (offset: Int64, at: Int64)
    var isHeld = false
  }

  private let lines: Lines
  private let rate: Int64
  private var underway: [Transfer.ID: Underway] = [:]

  init(_ opening: Opening) throws(Outcome) {
    if opening[Self.word].isEmpty { throw .fail("unknown-link", "option 'word' is empty; give it a word") }
    lines = Lines(word: opening[Self.word])
    rate = opening[Self.rate]
  }

  mutating func start(_ transfer: Transfer) {
    // A link may hold a secret, so that no sentence quotes it.
    guard let size = lines.size(of: transfer.url) else {
      return transfer.end(.fail("unknown-link", "the link is not \(Lines.place)LINES"))
    }
    // Where the size is not known beforehand, compare before each write: the kernel ends the worker of a source that goes on.
    if size > transfer.limit {
      return transfer.end(.reject("too-large", "the content has more bytes than are allowed"))
    }
    // What is there counts if it belongs to the same content. What lies behind it never does.
    let start = transfer.start
    let offset = start.etag == lines.tag && start.bytes <= size ? start.bytes : 0
    underway[transfer.id] = Underway(
      transfer: transfer, size: size, offset: offset, synced: offset, syncedAt: Self.now,
      began: (offset, Self.now))
  }

  mutating func turn(wake: Int32, for milliseconds: Int64) {
    let end = Self.now + milliseconds
    while true {
      let count = underway.count
      for (id, one) in underway where !one.isHeld && due(one) <= Self.now { advance(id, one) }
      let hasEnded = underway.count < count
      let next = underway.values.filter { !$0.isHeld }.map(due).min() ?? end
      let left = hasEnded ? 0 : max(min(next, end) - Self.now, 0)
      // And the connections, in a source that has some.
      var waiting = pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
      if poll(&waiting, 1, Int32(left)) != 0 || hasEnded || Self.now >= end { return }
    }
  }

  mutating func hold(_ transfer: Transfer.ID, _ isHeld: Bool) {
    guard var one = underway[transfer] else { return }
    (one.isHeld, one.began) = (isHeld, (one.offset, Self.now))
    underway[transfer] = one
  }

  mutating func stop(_ transfer: Transfer.ID) {
    guard var one = underway.removeValue(forKey: transfer) else { return }
    do throws(Outcome) {
      try save(&one)
      one.transfer.end(.retry("stopped", "it was told to end; what came is kept"))
    } catch {
      one.transfer.end(error)
    }
  }

  /// When its next piece may come.
  private func due(_ one: Underway) -> Int64 {
    one.began.at + (one.offset - one.began.offset) / (rate / 1000)
  }

  /// Writes the next piece.
  private mutating func advance(_ id: Transfer.ID, _ one: Underway) {
    var one = one
    do throws(Outcome) {
      let bytes = lines.bytes(at: one.offset, atMost: Int(min(Int64(Self.piece), one.size - one.offset)))
      try write(bytes, one)
      one.offset += Int64(bytes.count)
      let isComplete = one.offset == one.size
      // A pass says that nothing lies behind the content, and that all of it is on disk.
      if isComplete && ftruncate(one.transfer.content, off_t(one.size)) != 0 {
        throw Self.unwritable("cutting the file")
      }
      let now = Self.now
      if isComplete || one.offset - one.synced >= Self.syncBytes || now - one.syncedAt >= Self.syncTime {
        try save(&one)
      }
      if now - one.toldAt >= Self.tellTime {
        one.transfer.received(one.offset)
        one.toldAt = now
      }
      underway[id] = isComplete ? nil : one
      if isComplete { one.transfer.end(nil) }
    } catch {
      underway[id] = nil
      one.transfer.end(error)
    }
  }

  private func write(_ bytes: [UInt8], _ one: Underway) throws(Outcome) {
    var done = 0
    while done < bytes.count {
      let written = bytes.withUnsafeBytes {
        pwrite(
          one.transfer.content, $0.baseAddress.map { $0 + done }, bytes.count - done,
          off_t(one.offset) + off_t(done))
      }
      if written < 0 && errno == EINTR { continue }
      if written <= 0 { throw Self.unwritable("writing the file") }
      done += written
    }
  }

  /// Tells how far it is, once that is on disk: from there the next attempt goes on.
  private func save(_ one: inout Underway) throws(Outcome) {
    if fdatasync(one.transfer.content) != 0 { throw Self.unwritable("syncing the file") }
    one.transfer.checkpoint(.init(bytes: one.offset, total: one.size, etag: lines.tag))
    (one.synced, one.syncedAt) = (one.offset, Self.now)
  }

  /// The disk's fault, not the transfer's: the lane pauses.
  private static func unwritable(_ doing: String) -> Outcome {
    .pause("unwritable", "\(doing): \(String(cString: strerror(errno)))")
  }

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

/// What the links have: numbered lines, all of one width.
struct Lines {
  static let place = "https://lines.example/"
  private static let digits = 12

  private let word: [UInt8]
  /// Proves that two pieces belong together, as a server's ETag does.
  let tag: String

  init(word: String) {
    self.word = Array(word.utf8)
    // FNV-1a: the same in every run.
    let hash = word.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    tag = "\"\(String(hash, radix: 16))\""
  }

  /// The word, a space, the number, a newline.
  private var width: Int { word.count + Self.digits + 2 }

  /// Bytes that a link has; `nil`: it is none.
  func size(of link: String) -> Int64? {
    guard link.hasPrefix(Self.place) else { return nil }
    let number = link.utf8.dropFirst(Self.place.utf8.count)
    let isNumber = number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard isNumber, number.count <= Self.digits, let count = Int64(Substring(number)), count > 0 else {
      return nil
    }
    return count * Int64(width)
  }

  func bytes(at offset: Int64, atMost count: Int) -> [UInt8] {
    let column = Int(offset % Int64(width))
    var line = offset / Int64(width)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(column + count + width)
    while bytes.count < column + count {
      line += 1
      let number = String(line)
      bytes += word
      bytes.append(UInt8(ascii: " "))
      bytes += repeatElement(UInt8(ascii: "0"), count: Self.digits - number.utf8.count)
      bytes += number.utf8
      bytes.append(UInt8(ascii: "\n"))
    }
    return Array(bytes[column..<column + count])
  }
}

private let exported = Exported(Greeting.self)

@c(greeting_stage)
public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
