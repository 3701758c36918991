import Control
import CPlatform
import Glibc
import LedgerPort
import Platform
import Scheduler

/// Changes as lines of JSON, as they happen.
struct WatchStream {
  private let ledger: WatchedLedger
  /// Milliseconds between two looks where nothing changes.
  private static let interval: Int32 = 200
  /// Nanoseconds between two looks at the workers, and milliseconds for which a coordinator is waited for.
  private static let workers: (interval: UInt64, patience: Int32) = (1_000_000_000, 200)

  init(_ ledger: WatchedLedger) {
    self.ledger = ledger
  }

  /// Prints until a signal comes or the reader of the output has exited.
  ///
  /// - Parameter signals: reads SIGINT, SIGTERM and SIGHUP.
  func run(since: Position?, signals: Int32) throws {
    var position: Position
    if let since {
      position = since
    } else {
      position = try ledger.queries.position()
      Terminal.out(line("start", position) { _ in })
    }
    var seen: WorkersAtWork?
    var lookedAt: UInt64 = 0
    while !Terminal.isOutBroken {
      let (lines, hasMore) = try next(&position)
      if !lines.isEmpty { Terminal.out(lines) }
      if Clock.monotonic() >= lookedAt + Self.workers.interval {
        let now = ControlClient.workersAtWork(ledger.home, within: Self.workers.patience, isAttending: true)
        if !Self.isSame(now, seen) {
          Terminal.out(line("workers", position) { WorkersText.members(now, &$0) })
        }
        if now?.downloads != seen?.downloads, now?.downloads ?? seen?.downloads != nil {
          let status = try ledger.queries.status()
          Terminal.out(line("downloads", position) { DownloadsText.members(now?.downloads, status, &$0) })
        }
        (seen, lookedAt) = (now, Clock.monotonic())
      }
      if Self.isOver(signals, wait: hasMore ? 0 : Self.interval) { return }
      if !hasMore { try ledger.follow() }
    }
  }

  /// Whether the workers do the same; that times differ by a little is no change.
  private static func isSame(_ one: WorkersAtWork?, _ other: WorkersAtWork?) -> Bool {
    one?.groups == other?.groups && one?.longest?.stage == other?.longest?.stage
      && one?.longest?.attachmentId == other?.longest?.attachmentId
  }

  /// Waits; true: a signal came, or the reader has exited.
  private static func isOver(_ signals: Int32, wait milliseconds: Int32) -> Bool {
    var descriptors = [
      pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
      pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
    ]
    if poll(&descriptors, 2, milliseconds) <= 0 { return false }
    return descriptors[0].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
      || (signals >= 0 && sluice_signal_take(signals) != 0)
  }

  /// The lines of the next change; moves the position behind it.
  private func next(_ position: inout Position) throws -> (lines: String, hasMore: Bool) {
    let queries = ledger.queries
    let before = position
    let result: (lines: String, next: Position, hasMore: Bool) = try queries.snapshot {
      // One change in a page: so there is a position behind each.
      guard let page = try queries.changes(since: before, limit: 1) else {
        let now = try queries.position()
        return (restart(before, now), now, true)
      }
      return (try lines(page, from: before), page.next, page.hasMore)
    }
    position = result.next
    return (result.lines, result.hasMore)
  }

  private func restart(_ before: Position, _ now: Position) -> String {
    line("restart", now) { writer in
      writer.member("code", before.history == now.history ? "too-old" : "another-history")
      writer.member(
        "message",
        (before.history == now.history
          ? "the ledger no longer has what changed after \(before.text)"
          : "the ledger has another history than at \(before.text): it was restored from a backup, or is another")
          + "; read everything anew (`sluice list --format json`), then go on from the position of this line")
    }
  }

  /// The lines of a page. The last has the position behind it; the others that before, since what follows them is of the same
  /// transaction.
  private func lines(_ page: ChangePage, from before: Position) throws -> String {
    let queries = ledger.queries
    let now = Clock.now()
    var bodies: [(kind: String, members: (inout JSONWriter) -> Void)] = []
    var lanes: [LedgerStatus.Lane]?
    for change in page.changes {
      switch change.kind {
      case .attachment:
        guard let record = try queries.attachments(idPrefix: change.id).first else { continue }
        bodies.append(("attachment", { RecordText.members(record, withKind: false, &$0) }))
      case .deletion:
        guard let tombstone = try queries.tombstones(idPrefix: change.id).first else { continue }
        bodies.append(("deletion", { tombstone.write(to: &$0) }))
      case .delivery: continue  // all of them below
      case .conversation:
        guard let change = try queries.changes(in: change.id, at: page.next.number) else { continue }
        if !change.members.isEmpty || change.view.conversation.described == page.next.number {
          bodies.append(("conversation", { change.view.write(to: &$0, for: nil) }))
        }
        for message in change.messages {
          bodies.append(("message", { message.write(to: &$0, members: change.view.members) }))
        }
      case .lane:
        if lanes == nil { lanes = try queries.status().lanes }
        let name = LaneName(change.id)
        let lane = lanes?.first { $0.name == name } ?? name.map { LedgerStatus.Lane($0) }
        if let lane { bodies.append(("lane", { lane.write(to: &$0, at: now) })) }
      }
    }
    if page.changes.contains(where: { $0.kind == .delivery }) {
      for delivery in try queries.deliveries(changedAt: page.next) {
        bodies.append(("delivery", { delivery.write(to: &$0, at: now) }))
      }
    }
    return bodies.enumerated().map { index, body in
      line(body.kind, index == bodies.count - 1 ? page.next : before, body.members)
    }.joined()
  }

  private func line(_ kind: String, _ position: Position, _ members: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", kind)
      writer.member("position", position.text)
      members(&writer)
    }
    return writer.text + "\n"
  }
}
