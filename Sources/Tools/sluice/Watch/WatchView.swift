import Control
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Scheduler

/// The live view on a terminal.
final class WatchView {
  private let ledger: WatchedLedger
  private let home: Home
  private let style: Style
  private var status = LedgerStatus()
  private var use = Home.Use.free
  private var rates = WatchRates()
  private var failures = WatchFailures()
  /// `nil`: no coordinator tells.
  private var workers: WorkersAtWork?
  /// The lane that keys are for.
  private var chosen = LaneName.attachments
  /// What became of the last key.
  private var message = ""

  /// Milliseconds between two looks at the ledger.
  private static let interval: UInt64 = 1000
  /// Milliseconds for which a coordinator is waited for.
  private static let patience: Int32 = 200
  /// Lines for what is fetched, at most.
  private static let downloadsShown = 6

  init(_ ledger: WatchedLedger, _ home: Home, _ style: Style) {
    (self.ledger, self.home, self.style) = (ledger, home, style)
  }

  /// Draws until a person quits, or a signal comes.
  func run(signals: Int32) throws {
    let terminal = try RawTerminal()
    defer { withExtendedLifetime(terminal) {} }
    var drawn: UInt64 = 0
    while true {
      let now = Clock.monotonic() / 1_000_000
      if now >= drawn + Self.interval || drawn == 0 {
        try look()
        terminal.hold()
        drawn = now
      }
      terminal.show(lines(rows: terminal.size.rows))
      let wait = Int32(max(drawn + Self.interval, now + 10) - now)
      guard let keys = terminal.keys(signals, wait: wait) else { return }
      if act(on: keys) { return }
    }
  }

  private func look() throws {
    try ledger.follow()
    let queries = ledger.queries
    try queries.snapshot {
      status = try queries.status()
      try failures.follow(queries)
    }
    use = home.use
    workers = ControlClient.workersAtWork(home, within: Self.patience, isAttending: true)
    rates.add(status)
  }

  // MARK: Keys

  /// Returns whether to quit.
  private func act(on keys: [UInt8]) -> Bool {
    // A key that is no character comes as several bytes.
    switch String(decoding: keys, as: UTF8.self) {
    case "\u{1B}[A", "\u{1B}OA": choose(-1)
    case "\u{1B}[B", "\u{1B}OB", "\t": choose(1)
    case let text where text.hasPrefix("\u{1B}"): break
    case let text:
      for key in text {
        switch key {
        case "q", "Q": return true
        case "p", "P": pause()
        case "r", "R": apply(.resume(nil), "resumed", "was not paused")
        case "k": choose(-1)
        case "j": choose(1)
        default: break
        }
      }
    }
    return false
  }

  private func choose(_ step: Int) {
    let lanes = self.lanes.map(\.name)
    let index = (lanes.firstIndex(of: chosen) ?? 0) + step
    chosen = lanes[min(max(index, 0), lanes.count - 1)]
    message = ""
  }

  private func pause() {
    let pause = Pause(.person, code: "paused", reason: "a person paused it", by: QueueVerb.person)
    apply(.pause(pause), "paused", "was paused before")
  }

  private func apply(_ action: LaneCommand.Action, _ done: String, _ before: String) {
    do {
      switch try CommandDesk(home).apply([.lane(LaneCommand(chosen, action))]).first {
      case .refused(let reason)?: message = reason
      case .done(hasChanged: false)?: message = "\(chosen): \(before)"
      default: message = "\(chosen): \(done)"
      }
      try look()
    } catch let error as CommandError {
      message = error.messages.joined(separator: " ")
    } catch {
      message = "\(error)"
    }
  }

  // MARK: Lines

  /// The lane of attachments is shown in any case.
  private var lanes: [LedgerStatus.Lane] {
    status.lanes.contains { $0.name == .attachments }
      ? status.lanes : [LedgerStatus.Lane(.attachments)] + status.lanes
  }

  /// What fits into so many rows: failures are left out first, then lanes.
  private func lines(rows: Int) -> [String] {
    let head = headLines
    let foot = [
      message.isEmpty ? "" : Terminal.printable(message),
      style.faint("p pause  r resume  up/down choose a lane  q quit"),
    ]
    var room = rows - head.count - foot.count
    let lanes = Array(laneLines.prefix(max(room, 0)))
    room -= lanes.count
    let failures = room > 2 ? Array(failureLines.prefix(room)) : []
    return Array((head + lanes + failures).prefix(max(rows - foot.count, 0))) + foot.suffix(max(rows, 1))
  }

  private var headLines: [String] {
    let worker =
      switch use {
      case .free: "no coordinator is running"
      case .inUse: "a coordinator is at work"
      case .unknown: "whether a coordinator is at work is not known"
      }
    let (due, scheduled, leased) = status.lanes.reduce((0, 0, 0)) {
      ($0.0 + $1.due, $0.1 + $1.scheduled, $0.2 + $1.leased)
    }
    var queue = "queue   \(due) due, \(scheduled) waiting, \(leased) in hand"
    if let oldest = status.oldestQueuedAt {
      queue += "; the oldest taken in \(Age.text(milliseconds: Clock.now() &- oldest)) ago"
    }
    let rates = rates.rates
    return [
      "\(Terminal.printable(home.path))  \(worker)  \(style.faint(Clock.timestamp(Clock.now())))", queue,
      "rates   \(Decimal.text(rates.intake, 1))/s taken in, \(Decimal.text(rates.ended, 1))/s ended, "
        + "\(ByteSize.rounded(Int64(exactly: rates.bytes.rounded()) ?? .max))/s",
      "ended   "
        + Status.allCases.filter { $0 != .queued }.map { wanted in
          let count = status.attachments.first { $0.status == wanted }?.count ?? 0
          return "\(count) \(count > 0 ? style.word(wanted.rawValue) : wanted.rawValue)"
        }.joined(separator: ", ") + "; \(status.deadLetters) dead letters",
    ] + WorkersText.lines(workers, at: Clock.now()) + downloadLines + [""]
  }

  private var downloadLines: [String] {
    workers?.downloads.map {
      DownloadsText.lines($0, width: Terminal.width(STDOUT_FILENO), atMost: Self.downloadsShown)
    } ?? []
  }

  private var laneLines: [String] {
    let width = max(lanes.map { Terminal.printable($0.name.description).count }.max() ?? 0, 12)
    func right(_ text: String) -> String { String(repeating: " ", count: max(9 - text.count, 1)) + text }
    var lines = [
      style.faint("  \(Help.pad("lane", width))\(["due", "waiting", "in hand"].map(right).joined())")
    ]
    for lane in lanes {
      let name = Help.pad(Terminal.printable(lane.name.description), width)
      let counts = [lane.due, lane.scheduled, lane.leased].map { right(String($0)) }.joined()
      lines.append("\(lane.name == chosen ? ">" : " ") \(name)\(counts)")
      if let pause = lane.pause { lines.append("    \(style.word("paused")) \(PauseText.text(pause))") }
    }
    return lines
  }

  private var failureLines: [String] {
    if failures.records.isEmpty { return [] }
    return ["", style.faint("  last failures")]
      + failures.records.map { record in
        let time = record.finishedAt.map { String(Clock.timestamp($0).dropFirst(11).prefix(8)) } ?? ""
        let reason =
          record.outcome.reason.map { "\($0.stage): \(RecordText.reason($0.code, $0.message))" } ?? ""
        return
          "  \(time)  \(style.word(record.outcome.status.rawValue))  \(Terminal.printable(record.origin.fileName))  \(reason)"
      }
  }
}
