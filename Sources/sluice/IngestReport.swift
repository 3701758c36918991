import Glibc
import Ledger
import Pipeline
import Platform
import Scheduler

/// What `sluice ingest` says while it works and when it is done. Results go to standard output, progress and problems to
/// standard error.
final class IngestReport {
  private let isJSON: Bool
  private let isQuiet: Bool
  private let isResident: Bool
  private let problems: Mailbox<String>
  private var progress: ProgressBar?
  private var lines = ""
  private var counts: [Status: Int64] = [:]
  private var bytes: Int64 = 0
  private var known = 0
  private var problemCount = 0
  private var tally = ProblemTally()
  private var putOff: [String: Int] = [:]
  /// The first few that were not completed, for the table.
  private var rows: [(name: String, status: Status, reason: Reason?)] = []
  private static let rowLimit = 20

  /// - Parameter left: attachments an earlier run left in the queue.
  init(isJSON: Bool, isQuiet: Bool, isResident: Bool = false, left: Int64, problems: Mailbox<String>) {
    self.isJSON = isJSON
    self.isQuiet = isQuiet
    self.isResident = isResident
    self.problems = problems
    if !isQuiet && !isResident && Terminal.isTerminal(STDERR_FILENO) { progress = ProgressBar(total: left) }
    if left > 0 && !isQuiet {
      Terminal.error("going on with \(Count.text(left, "attachment")) that an earlier run left")
    }
  }

  /// Whether everything was completed.
  var isClean: Bool { problemCount == 0 && counts.allSatisfy { $0.key == .completed || $0.value == 0 } }

  func take(_ event: SchedulerEvent) {
    switch event {
    case .takenIn(let report, _):
      known += report.known
      progress?.total &+= Int64(report.added)
      report.problems.forEach(tell)
    case .ended(let record): take(record)
    case .triedAgain(_, let reason, let at):
      if progress == nil && !isQuiet && !isJSON {
        note("trying again in \(max(at - Clock.steady(), 0)) ms: \(reason.stage): \(reason.message)")
      }
    case .deliveryPutOff(let channel, let reason, let at):
      putOff[channel, default: 0] += 1
      if putOff[channel] == 1 {
        note("channel '\(channel)': \(reason.message)" + (at == nil ? "; given up" : "; scheduled again"))
      }
    case .lanePaused(let lane, let reason): note("paused: \(lane): \(reason)")
    case .laneResumed(let lane): note("trying again: \(lane)")
    case .problem(let text): tell(text)
    case .delivered, .staleResult: break
    case .tick:
      problems.poll().forEach(tell)
      flush()
      progress?.draw()
    }
  }

  private func take(_ record: AttachmentRecord) {
    counts[record.status, default: 0] += 1
    bytes &+= record.sizeBytes ?? 0
    if record.status != .completed && rows.count < Self.rowLimit {
      rows.append((String(decoding: record.source, as: UTF8.self), record.status, record.reason))
    }
    if isJSON {
      lines += RecordText.json(record)
    } else if progress == nil && (!isQuiet || record.status != .completed) {
      lines += RecordText.line(record)
    }
    if lines.utf8.count > 32 << 10 { flush() }
    progress?.add(record)
  }

  private func tell(_ problem: String) {
    problemCount += 1
    note(problem)
  }

  /// Who waits for the end of an ingest is told the first few of a kind, whoever reads the log of a `run` everything.
  private func note(_ text: String) {
    if !isResident && !tally.admits(line: text) { return }
    progress?.clear()
    Terminal.error(Terminal.printable(text))
  }

  private func flush() {
    if lines.isEmpty { return }
    Terminal.out(lines)
    lines.removeAll(keepingCapacity: true)
  }

  /// Takes everything off the terminal that is not for good, and says how much was not told.
  func clear() {
    flush()
    progress?.clear()
    for line in tally.rest { Terminal.error(Terminal.printable(line)) }
  }

  // MARK: The end

  func finish(_ summary: SchedulerSummary, home: Home, seconds: Double, left: LedgerStatus) {
    problems.poll().forEach(tell)
    clear()
    let total = counts.values.reduce(0, +)
    if isJSON {
      Terminal.out(json(total, seconds))
    } else {
      Terminal.out(text(total, seconds, home))
    }
    let queued = left.attachments.first { $0.status == .queued }?.count ?? 0
    for (lane, reason) in summary.pausedLanes {
      let text = "\(lane) paused (\(reason)); run the same command again to go on, nothing is lost"
      Terminal.error(Terminal.printable(text))
    }
    if summary.wasStopped && (queued > 0 || !isResident) {
      Terminal.error(
        "stopped; \(Count.text(queued, "attachment")) \(queued == 1 ? "is" : "are") left in the queue: run the same "
          + "command again to go on")
    }
  }

  private func json(_ total: Int64, _ seconds: Double) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "summary")
      writer.member("total", total)
      for status in [Status.completed, .rejected, .failed, .quarantined] {
        writer.member(status.rawValue, counts[status] ?? 0)
      }
      writer.member("sizeBytes", bytes)
      writer.key("seconds")
      writer.value((seconds * 1000).rounded() / 1000)
    }
    return writer.text + "\n"
  }

  private func text(_ total: Int64, _ seconds: Double, _ home: Home) -> String {
    var text = ""
    if !rows.isEmpty && !isQuiet {
      text += "\nNot completed:\n"
      for row in rows {
        let reason = row.reason.map { "\($0.stage): \(RecordText.reason($0.code, $0.message))" } ?? ""
        text +=
          "  \(Help.pad(row.status.rawValue, 11))  \(Terminal.printable(row.name))\n               \(reason)\n"
      }
      let more = total - (counts[.completed] ?? 0) - Int64(rows.count)
      if more > 0 { text += "  and \(more) more: \(Self.listing(home))\n" }
    }
    let rate = seconds > 0 ? Double(total) / seconds : 0
    let parts = [Status.completed, .rejected, .failed, .quarantined].map {
      "\(counts[$0] ?? 0) \($0.rawValue)"
    }
    text +=
      "\n\(Count.text(total, "attachment")): \(parts.joined(separator: ", ")); \(ByteSize.rounded(bytes))"
    text += " in \(Decimal.text(seconds, 2)) s (\(Decimal.text(rate, 0))/s)\n"
    if known > 0 { text += "\(known) known from before, left as they are\n" }
    if problemCount > 0 { text += "\(problemCount) not taken in, see above\n" }
    return text
  }

  /// The command that lists what was not completed, as it can be pasted.
  private static func listing(_ home: Home) -> String {
    let isUsual = home.path == Environment.usualHome && Environment.namedHome == nil
    let option = isUsual ? "" : home.path.hasPrefix("-") ? " --home=" : " --home "
    return "sluice list --status rejected,failed,quarantined\(option)"
      + (isUsual ? "" : ShellWord.of(home.path))
  }
}
