import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Scheduler

/// What `sluice status` prints.
struct StatusReport {
  var home: String
  /// Whether a coordinator is at work.
  var use: Home.Use
  /// `nil`: no coordinator tells at once.
  var workers: WorkersAtWork?
  var status: LedgerStatus
  /// Uploads to `sluice serve` that are not whole.
  var openUploads: Int
  /// Bytes of deleted attachments may still be in the ledger's files.
  var isErasing: Bool
  var ledgerBytes: Int64
  var hint: Hint
  var now: Int64

  private func attachments(_ wanted: Status) -> (count: Int64, bytes: Int64) {
    status.attachments.first { $0.status == wanted }.map { ($0.count, $0.bytes) } ?? (0, 0)
  }

  /// The jobs in each state, over all lanes.
  private var queue: [(state: String, count: Int64)] {
    [
      ("due", Int64(status.lanes.reduce(0) { $0 + $1.due })),
      ("scheduled", Int64(status.lanes.reduce(0) { $0 + $1.scheduled })),
      ("leased", Int64(status.lanes.reduce(0) { $0 + $1.leased })),
    ]
  }

  /// What is fetched, in a line; `nil`: nothing is, and nothing has failed.
  private var downloads: String? {
    let active = workers?.downloads?.transfers.count ?? 0
    var parts: [String] = []
    if active > 0 {
      parts.append("\(active) under way at \(ByteSize.rounded(workers?.downloads?.rate ?? 0))/s")
    }
    if status.failedDownloads > 0 {
      parts.append("\(status.failedDownloads) failed: \(hint("downloads", "--state failed")) lists them")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  // MARK: For people

  func text(_ style: Style) -> String {
    let worker =
      switch use {
      case .free: "no coordinator is running"
      case .inUse: "a coordinator is at work"
      case .unknown(let reason):
        "whether a coordinator is at work is not known: \(Terminal.printable(reason)); ask as the user who owns it"
      }
    var text = "home         \(Terminal.printable(home)) (\(worker))\n"
    if let workers { text += "workers      \(WorkersText.line(workers, at: now))\n" }
    text += "queue        \(queue.map { "\($0.count) \($0.state)" }.joined(separator: ", "))"
    if let oldest = status.oldestQueuedAt {
      text += "; the oldest taken in \(Age.text(milliseconds: now &- oldest)) ago"
    }
    if use == .free && queue[0].count > 0 { text += "\n             \(hint("run")) works it" }
    text += "\ndead letters \(status.deadLetters)\n"
    if let downloads { text += "downloads    \(downloads)\n" }
    if openUploads > 0 { text += "uploads      \(openUploads) not whole\n" }
    let erasing = isErasing ? "; bytes of deleted attachments are still to be erased" : ""
    text += "ledger       \(ByteSize.rounded(ledgerBytes))\(erasing)\n"
    text += "\nAttachments\n"
    for each in Status.allCases {
      let (count, bytes) = attachments(each)
      let size = bytes > 0 ? "  \(ByteSize.rounded(bytes))" : ""
      text += "  \(style.word(each.rawValue, width: 11))  \(count)\(size)\n"
    }
    return text + lanes(style)
  }

  private func lanes(_ style: Style) -> String {
    if status.lanes.isEmpty { return "" }
    let width = status.lanes.map { Terminal.printable($0.name.description).count }.max() ?? 0
    var text = "\nLanes\n"
    for lane in status.lanes {
      let name = Terminal.printable(lane.name.description)
      text += "  \(Help.pad(name, width))  \(lane.due) due, \(lane.scheduled) scheduled"
      if lane.scheduled > 0, let next = lane.nextDue {
        text += next > 0 ? " (the next in \(Age.text(milliseconds: next)))" : " (the next is due now)"
      }
      text += ", \(lane.leased) leased"
      if lane.notPrefetched > 0 { text += ", \(lane.notPrefetched) fetched once somebody asks" }
      text += "\n"
      guard let pause = lane.pause else { continue }
      text += "    \(style.word("paused")): \(Terminal.printable(pause.reason))\n"
      text += "    \(PauseText.origin(pause)); \(PauseText.remedy(lane.name, pause, hint))\n"
    }
    return text
  }

  // MARK: For programs

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "status")
      writer.member("home", home)
      writer.key("inUse")
      switch use {
      case .free: writer.value(false)
      case .inUse: writer.value(true)
      case .unknown: writer.value(nil as String?)
      }
      writer.key("queue")
      writer.object { writer in for each in queue { writer.member(each.state, each.count) } }
      writer.member("oldestQueuedAt", status.oldestQueuedAt.map(Clock.timestamp))
      writer.member("deadLetters", status.deadLetters)
      writer.member("openUploads", Int64(openUploads))
      writer.member("isErasing", isErasing)
      writer.key("attachments")
      writer.object { writer in
        for each in Status.allCases {
          let (count, bytes) = attachments(each)
          writer.key(each.rawValue)
          writer.object { writer in
            writer.member("count", count)
            writer.member("sizeBytes", bytes)
          }
        }
      }
      writer.key("lanes")
      writer.array { writer in
        for lane in status.lanes {
          writer.object { writer in
            writer.member("name", lane.name.description)
            writer.member("due", Int64(lane.due))
            writer.member("scheduled", Int64(lane.scheduled))
            writer.member("leased", Int64(lane.leased))
            if lane.notPrefetched > 0 { writer.member("notPrefetched", Int64(lane.notPrefetched)) }
            writer.member("nextAt", lane.nextDue.map { Clock.timestamp(now &+ $0) })
            writer.member("pausedCode", lane.pause?.code)
            writer.member("pausedReason", lane.pause?.reason)
            writer.member("pausedCause", lane.pause?.cause.rawValue)
            writer.member("pausedBy", lane.pause?.by)
            writer.member("pausedAt", lane.pause.map { Clock.timestamp($0.since) })
          }
        }
      }
      writer.member("ledgerBytes", ledgerBytes)
      writer.key("downloads")
      writer.object { DownloadsText.members(workers?.downloads, status, &$0) }
      writer.key("workers")
      guard let workers else { return writer.value(nil as String?) }
      writer.object { WorkersText.members(workers, &$0) }
    }
    return writer.text + "\n"
  }
}
