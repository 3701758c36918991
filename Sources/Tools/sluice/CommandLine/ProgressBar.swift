import Glibc
import LedgerPort
import Pipeline
import Platform
import Scheduler

/// Lines on a terminal that say how far the work is: one for all, and some for what is fetched.
struct ProgressBar {
  var total: Int64
  /// What is fetched now.
  var downloads: DownloadsAtWork?
  /// What has been with a stage for longest, as long as nothing ends.
  var longest: WorkersAtWork.Piece?
  /// When the last one ended, on the monotonic clock.
  private var endedAt = Clock.monotonic()
  private var done: Int64 = 0
  private var refused: Int64 = 0
  private var bytes: Int64 = 0
  private let started = Clock.monotonic()
  private var drawn: UInt64 = 0
  private var isShown = false

  init(total: Int64) {
    self.total = total
  }

  mutating func add(_ record: AttachmentRecord) {
    add(bytes: record.outcome.sizeBytes ?? 0)
    if record.outcome.status != .completed { refused += 1 }
  }

  mutating func add(bytes more: Int64) {
    done += 1
    bytes = .saturatingSum(bytes, more)
    (longest, endedAt) = (nil, Clock.monotonic())
  }

  /// Nothing has ended for some seconds, so that people ask themselves what it is at.
  var isStill: Bool { Clock.monotonic() - endedAt >= Self.stillness }

  private static let stillness: UInt64 = 3_000_000_000

  /// Draws it, ten times a second at most.
  mutating func draw() {
    let now = Clock.monotonic()
    if now - drawn < 100_000_000 { return }
    drawn = now
    isShown = true
    let seconds = Double(now - started) / 1e9
    let rate = seconds > 0 ? Double(done) / seconds : 0
    let left = rate > 0 && total > done ? Self.clock(Int64(Double(total - done) / rate)) : "--:--"
    let facts =
      " \(done)/\(total)  \(Decimal.text(rate, 0))/s  \(left) left  \(ByteSize.rounded(bytes))"
      + (refused > 0 ? "  \(refused) not completed" : "")
    let room = max(Terminal.width(STDERR_FILENO) - facts.count - 3, 0)
    let width = min(room, 30)
    let filled = total > 0 ? Int(Double(width) * Double(done) / Double(total)) : 0
    let bar =
      width >= 5
      ? "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))]" : ""
    // Below, from where the cursor goes back up.
    var below = isStill ? longest.map { [Self.line($0, Clock.now())] } ?? [] : []
    below +=
      downloads.map {
        DownloadsText.lines($0, width: Terminal.width(STDERR_FILENO), atMost: Self.downloadsShown)
      } ?? []
    var text = "\r\(bar)\(facts)\u{1B}[J"
    for line in below { text += "\n\(line)" }
    if !below.isEmpty { text += "\u{1B}[\(below.count)A" }
    Terminal.write(text, to: STDERR_FILENO)
  }

  private static func line(_ piece: WorkersAtWork.Piece, _ now: Int64) -> String {
    let age = Age.text(milliseconds: max(now &- piece.since, 0))
    let place = " \(Terminal.printable(piece.stage)) for \(age): "
    let room = max(Terminal.width(STDERR_FILENO) - place.count - 1, 0)
    return place
      + Terminal.printable(piece.fileName.isEmpty ? piece.attachmentId : piece.fileName).prefix(room)
  }

  /// Lines for what is fetched, at most.
  private static let downloadsShown = 8

  /// Removes it from the terminal, so that other text can be printed.
  mutating func clear() {
    if !isShown { return }
    isShown = false
    Terminal.write("\r\u{1B}[J", to: STDERR_FILENO)
  }

  private static func clock(_ seconds: Int64) -> String {
    let (minutes, rest) = seconds.quotientAndRemainder(dividingBy: 60)
    return "\(minutes):\(rest < 10 ? "0" : "")\(rest)"
  }
}

/// Numbers for people.
enum Decimal {
  static func text(_ value: Double, _ places: Int) -> String {
    var factor = 1.0
    for _ in 0..<places { factor *= 10 }
    // A damaged ledger may hold any number.
    let scaled = Int64(exactly: (value * factor).rounded()) ?? (value < 0 ? .min : .max)
    if places == 0 { return String(scaled) }
    let digits = String(scaled % Int64(factor))
    return "\(scaled / Int64(factor)).\(String(repeating: "0", count: places - digits.count))\(digits)"
  }
}
