import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Manifest
import Pipeline
import Platform
import Scheduler

/// The output of `sluice ingest` during and after its work. Results go to standard output, progress and
/// problems to standard error.
final class IngestReport {
  private let isJSON: Bool
  private let isQuiet: Bool
  private let isVerbose: Bool
  private let isResident: Bool
  private let isAgain: Bool
  private let problems: Mailbox<IntakeProblem>
  private var progress: ProgressBar?
  private let ask: () -> Void
  private var askedAt: UInt64 = 0
  private var lines = ""
  private var counts: [Status: Int64] = [:]
  private var bytes: Int64 = 0
  private var added = 0
  private var known = 0
  private var knownNotCompleted = 0
  private var knownDeleted = 0
  private var delivered: Int64 = 0
  private var deadLetters: Int64 = 0
  /// What was not taken in.
  private var notTakenIn: ProblemGroups
  private var hasProblems = false
  private var tally = ProblemTally()
  private var logRate = LogRate()
  private var putOff: [String: Int] = [:]
  private var notCompleted = NotCompleted()
  private let lineage: Lineage
  /// Completed attachments with contents that were not.
  private var incomplete: Int64 = 0

  /// - Parameters:
  ///   - left: attachments an earlier run left in the queue.
  ///   - manifest: its name; `nil`: there is none.
  ///   - ask: asks what the workers do, which is told then.
  init(
    _ arguments: ParsedArguments, _ home: Home, isResident: Bool = false, left: Int64,
    manifest: String? = nil,
    problems: Mailbox<IntakeProblem>, ask: @escaping () -> Void = {}
  ) {
    self.ask = ask
    lineage = Lineage { try home.reader() }
    isJSON = arguments.isJSON
    isQuiet = arguments.flag("quiet")
    isVerbose = arguments.flag("verbose")
    isAgain = arguments.flag("again")
    notTakenIn = ProblemGroups(manifest: manifest)
    self.isResident = isResident
    self.problems = problems
    if !isQuiet && !isResident && Terminal.isTerminal(STDERR_FILENO) { progress = ProgressBar(total: left) }
    if left > 0 && !isQuiet {
      Terminal.error("going on with \(Count.text(left, "attachment")) that an earlier run left")
    }
  }

  /// Whether everything named is completed and all deliveries are made.
  var isClean: Bool {
    notTakenIn.count == 0 && !hasProblems && knownNotCompleted == 0 && deadLetters == 0
      && counts.allSatisfy { $0.key == .completed || $0.value == 0 }
  }

  /// Files found: new files, known files, and files that were refused.
  var found: Int64 { Int64(added + known + notTakenIn.count) }

  func take(_ event: SchedulerEvent) {
    switch event {
    case .answered(let results, let ticket): take(results, ofClient: ticket != 0)
    case .ended(let record): take(record)
    case .triedAgain(let id, let reason, let at): tellAgain(id, reason, after: max(at - Clock.steady(), 0))
    case .sourceAway(let reason): note(reason.message)
    case .deliveryPutOff(let channel, let reason, let at):
      putOff[channel, default: 0] += 1
      if at == nil { deadLetters += 1 }
      if putOff[channel] == 1 {
        note("channel '\(channel)': \(reason.message)" + (at == nil ? "; given up" : "; scheduled again"))
      }
    case .lanePaused(let lane, let reason): note("paused: \(lane): \(reason)")
    case .laneResumed(let lane): note("trying again: \(lane)")
    case .problem(let text):
      hasProblems = true
      note(text)
    case .ledgerAway(let text): note(text)
    case .remark(let level, let stage, let id, let attachmentId, let text):
      tell(LogRecord(id: id, attachmentId: attachmentId, stage: stage, level: level, text: text))
    case .delivered: delivered += 1
    case .stopping(let count, let stages, let downloads, let seconds):
      tellStopping(count, stages, downloads, seconds)
    case .stopped(let count):
      note(
        "stopped: \(count) in hand did not end in that time; \(count == 1 ? "it stays" : "they stay") in the queue"
      )
    case .downloads(let downloads): progress?.downloads = downloads
    case .atWork(let workers): progress?.longest = workers.longest
    case .hangup, .staleResult, .steps, .noRoom: break
    case .tick:
      problems.poll().forEach(tell)
      flush()
      askWhereStill()
      progress?.draw()
    }
  }

  /// A long wait is told even where a bar shows how far all is, since nothing else says what is waited for.
  private func tellAgain(_ id: String, _ reason: Reason, after wait: Int64) {
    if isQuiet || isJSON || progress != nil && wait < Self.longWait { return }
    if isResident && !logRate.admits("tried again").isShown { return }
    let time = wait < Self.longWait ? "\(wait) ms" : Interval.text(wait / 1000 * 1000)
    note("\(id): trying again in \(time): \(reason.stage): \(reason.message)")
  }

  /// Milliseconds.
  private static let longWait: Int64 = 10_000

  /// Where nothing ends, asks once a second what takes so long.
  private func askWhereStill() {
    guard let progress, progress.isStill, Clock.monotonic() - askedAt >= 1_000_000_000 else { return }
    askedAt = Clock.monotonic()
    ask()
  }

  /// What a client handed over is its own to tell.
  private func take(_ results: [CommandResult], ofClient: Bool) {
    for case .takenIn(let report) in results {
      progress?.total &+= Int64(report.added)
      if ofClient && !isResident { continue }
      added += report.added
      known += report.known
      knownNotCompleted += report.knownNotCompleted
      knownDeleted += report.knownDeleted
      report.problems.forEach(tell)
    }
  }

  private func take(_ record: AttachmentRecord) {
    counts[record.outcome.status, default: 0] += 1
    bytes = .saturatingSum(bytes, record.outcome.sizeBytes ?? 0)
    if record.outcome.status != .completed {
      notCompleted.add(record, lineage)
    } else if RecordText.unfinishedContents(of: record) != nil {
      incomplete += 1
    }
    if isJSON {
      lines += RecordText.json(record)
    } else if isVerbose || progress == nil && !isQuiet {
      lines += RecordText.line(record, lineage)
    }
    if lines.utf8.count > 32 << 10 { flush() }
    progress?.add(record)
  }

  /// An ingest shows the first few of a kind, and in the end where the others are. Programs get a record of each.
  private func tell(_ problem: IntakeProblem) {
    let isShown = notTakenIn.add(problem)
    if isJSON { lines += ProblemRecord.json(problem, line: notTakenIn.line(of: problem)) }
    if !isResident && !isShown { return }
    progress?.clear()
    Terminal.error(problem.text)
  }

  /// A content may make a stage log as much as it likes: of each stage and level, an ingest shows the first few, and a `run` so
  /// many a minute.
  private func tell(_ record: LogRecord) {
    if record.level < .warning && !isVerbose { return }
    let kind = "\(record.stage) \(record.level.name)"
    if isResident {
      let (isShown, left) = logRate.admits(kind)
      if left > 0 {
        note(
          "\(record.stage): \(Count.grouped(left)) more lines of level \(record.level.name) were left out in a minute"
        )
      }
      if !isShown { return }
    } else if !tally.admits(record.line, kind: kind) {
      return
    }
    if isJSON {
      lines += record.json
      return
    }
    progress?.clear()
    Terminal.error(record.line)
  }

  private func tellStopping(_ count: Int, _ stages: [String], _ downloads: Int, _ seconds: Int?) {
    var parts: [String] = []
    let place = stages.isEmpty ? "" : " (\(stages.joined(separator: ", ")))"
    if count > 0 || downloads == 0 {
      parts.append("\(count) in hand\(place) \(seconds.map { "have \($0) s to end" } ?? "end first")")
    }
    if downloads > 0 {
      parts.append(
        "\(Count.text(downloads, "download")) \(downloads == 1 ? "stops" : "stop") now and \(downloads == 1 ? "goes" : "go") on from there later"
      )
    }
    note(
      "stopping: \(parts.joined(separator: ", ")), and the rest stays in the queue; a second signal ends it at once and "
        + "loses nothing")
  }

  /// An ingest shows the first few problems of each kind; a `run`, whose output is a log, shows all of them.
  private func note(_ text: String) {
    if !isResident && !tally.admits(line: text) { return }
    progress?.clear()
    Terminal.error(text)
  }

  private func flush() {
    if lines.isEmpty { return }
    progress?.clear()
    Terminal.out(lines)
    lines.removeAll(keepingCapacity: true)
  }

  /// Clears the progress display, and tells of the problems that were not shown.
  func clear() {
    flush()
    progress?.clear()
    for line in (isResident ? [] : notTakenIn.rest) + tally.rest { Terminal.error(line) }
  }

  // MARK: The end

  /// - Parameter hasMore: more new files are there than were to be taken in.
  func finish(
    _ summary: SchedulerSummary, home: Home, seconds: Double, left: LedgerStatus, owed: OwedDeliveries,
    hasMore: Bool = false
  ) {
    problems.poll().forEach(tell)
    clear()
    let total = counts.values.reduce(0, +)
    let queued = left.attachments.first { $0.status == .queued }?.count ?? 0
    if isJSON {
      Terminal.out(json(total, queued, seconds, summary, owed, hasMore))
    } else {
      Terminal.out(text(total, seconds, home, owed))
    }
    if hasMore {
      Terminal.error(
        "more new files are there, beyond --limit; run the same command again to take in the next")
    }
    for (lane, reason, cause) in summary.pausedLanes {
      let resume = "`sluice resume \(ShellWord.of(lane))\(Self.option(home))`"
      let remedy =
        cause == .hand
        ? "put that right, then \(resume) lifts it"
        : cause == .person
          ? "a person did that, and \(resume) lifts it"
          : "run the same command again to go on"
      let text = "\(lane) paused (\(reason)); \(remedy), nothing is lost"
      Terminal.error(text)
    }
    if !isResident && !summary.wasStopped && !summary.pausedLanes.isEmpty && queued > 0 {
      Terminal.error(
        "\(Count.text(queued, "attachment")) \(queued == 1 ? "is" : "are") left in the queue")
    }
    tell(owed)
    tell(summary.awaitedPlaces)
    if summary.wasStopped && (queued > 0 || !isResident) {
      Terminal.error(
        "stopped; \(Count.text(queued, "attachment")) \(queued == 1 ? "is" : "are") left in the queue"
          + (summary.isIntakeCut && !isResident ? ", and not all that was named is in it" : "")
          + ": run the same command again to go on")
    }
  }

  private func tell(_ owed: OwedDeliveries) {
    if owed.count > 0 && !isResident {
      let next = owed.nextAt.map { ", the next at \(Clock.timestamp($0))" } ?? ""
      Terminal.error(
        "\(Count.text(owed.count, "delivery", "deliveries")) owed\(next); run the same command again then, have it wait with --wait-deliveries 5m, "
          + "or let `sluice run` make them when they are due")
    }
    for (channel, count) in owed.elsewhere {
      Terminal.error(
        "\(Count.text(count, "delivery", "deliveries")) owed on channel '\(Terminal.printable(channel))', which this pipeline does not have; add "
          + "it under `channels` again to make them")
    }
  }

  private static let placeLimit = 5

  private func tell(_ places: [SchedulerSummary.AwaitedPlace]) {
    if isResident { return }
    for place in places.prefix(Self.placeLimit) {
      Terminal.error(
        "\(Count.text(place.attachments, "attachment")) not worked on: \(Terminal.printable(place.message)); then run the "
          + "same command again. If it never will be, \(place.giveUp), and they fail")
    }
    if places.count > Self.placeLimit {
      Terminal.error("and those of \(Count.text(places.count - Self.placeLimit, "place")) more")
    }
  }

  private func json(
    _ total: Int64, _ queued: Int64, _ seconds: Double, _ summary: SchedulerSummary, _ owed: OwedDeliveries,
    _ hasMore: Bool
  ) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "summary")
      writer.member("total", total)
      for status in Status.allCases where status.isFinal {
        writer.member(status.rawValue, counts[status] ?? 0)
      }
      writer.member("queued", queued)
      writer.member("waitingForSource", Int64(summary.awaitedPlaces.reduce(0) { $0 + $1.attachments }))
      writer.member("known", Int64(known))
      writer.member("withIncompleteContents", incomplete)
      writer.member("knownNotCompleted", Int64(knownNotCompleted))
      writer.member("knownDeleted", Int64(knownDeleted))
      writer.member("notTakenIn", Int64(notTakenIn.count))
      writer.key("more")
      writer.value(hasMore)
      writer.key("deliveries")
      writer.object { writer in
        writer.member("delivered", delivered)
        writer.member("scheduled", Int64(owed.count))
        writer.member("nextAt", owed.nextAt.map(Clock.timestamp))
        writer.member("dead", deadLetters)
      }
      writer.member("sizeBytes", bytes)
      writer.key("seconds")
      writer.value((seconds * 1000).rounded() / 1000)
    }
    return writer.text + "\n"
  }

  private func text(_ total: Int64, _ seconds: Double, _ home: Home, _ owed: OwedDeliveries) -> String {
    var text = ""
    if !notCompleted.isEmpty {
      text += "\nNot completed:\n\(notCompleted.text(homeOption: Self.option(home)))"
    }
    let rate = seconds > 0 ? Double(total) / seconds : 0
    // What a person did is told where it happened.
    let parts = Status.allCases.filter { $0.isFinal && ($0 != .cancelled || counts[$0] ?? 0 > 0) }.map {
      "\(counts[$0] ?? 0) \($0.rawValue)"
    }
    text +=
      "\n\(Count.text(total, "attachment")): \(parts.joined(separator: ", ")); \(ByteSize.rounded(bytes))"
    text += " in \(Decimal.text(seconds, 2)) s (\(Decimal.text(rate, 0))/s)\n"
    if incomplete > 0 {
      text +=
        "\(incomplete) of the completed \(incomplete == 1 ? "has" : "have") contents that were not completed\n"
    }
    text += deliveries(owed)
    if known > 0 {
      let rest =
        knownNotCompleted > 0
        ? "; \(knownNotCompleted) of them are not completed or hold contents that are not, which `sluice retry` tries again: sluice list --status rejected,failed,quarantined,cancelled"
          + Self.option(home) : ""
      let deleted =
        knownDeleted > 0
        ? "; \(knownDeleted) of them deleted since: --again takes them in" : ""
      let fate = isAgain ? "validated again" : "left as they are"
      text += "\(known) known from before, \(fate)\(rest)\(deleted)\n"
    }
    if notTakenIn.count > 0 { text += "\(notTakenIn.count) not taken in, see above\n" }
    return text
  }

  private func deliveries(_ owed: OwedDeliveries) -> String {
    let total = delivered + deadLetters + Int64(owed.count)
    if total == 0 { return "" }
    var parts = ["\(delivered) delivered"]
    if owed.count > 0 {
      parts.append(
        "\(owed.count) scheduled" + (owed.nextAt.map { " (the next at \(Clock.timestamp($0)))" } ?? ""))
    }
    if deadLetters > 0 { parts.append("\(deadLetters) dead") }
    return "\(Count.text(total, "delivery", "deliveries")): \(parts.joined(separator: ", "))\n"
  }

  /// How a command that is ready to paste names the home, with a space before it.
  private static func option(_ home: Home) -> String {
    if home.path == Environment.usualHome && Environment.namedHome == nil { return "" }
    return (home.path.hasPrefix("-") ? " --home=" : " --home ") + ShellWord.of(home.path)
  }
}
