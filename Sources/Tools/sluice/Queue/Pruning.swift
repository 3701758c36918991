import Ledger
import Pipeline
import Platform

/// Deletes what the pipeline's `keep` keeps no longer.
struct Pruning {
  var rules: KeepRules
  var ledger: any LedgerQueries
  /// In milliseconds since 1970.
  var now = Clock.machine.now()

  /// Asked before each batch.
  var isWanted: () -> Bool = { true }

  /// Attachments and bytes that were deleted, or would be.
  struct Tally {
    var attachments = 0
    var bytes: Int64 = 0
    /// How many of each status.
    var statuses: [Status: Int] = [:]
    /// Bytes of completed ones.
    var completedBytes: Int64 = 0
  }

  /// - Parameter desk: `nil`: nothing is changed.
  func run(_ desk: CommandDesk?) throws -> Tally {
    var tally = Tally()
    try desk?.finishDeletions()
    for status in Status.allCases {
      guard let age = rules.ages[status] else { continue }
      var filter = AttachmentFilter(statuses: [status])
      // One that ended before was taken in before.
      (filter.until, filter.endedBefore) = (now - age, now - age)
      try prune(filter, desk, &tally) { _ in true }
    }
    guard let limit = rules.bytes else { return tally }
    let kept = try ledger.status().attachments.first { $0.status == .completed }?.bytes ?? 0
    // What is deleted above is not there any more, unless nothing is changed.
    var excess = kept - limit - (desk == nil ? tally.completedBytes : 0)
    if excess <= 0 { return tally }
    let aged = desk == nil ? rules.ages[.completed] : nil
    var filter = AttachmentFilter(statuses: [.completed])
    filter.endedSince = aged.map { now - $0 }
    try prune(filter, desk, &tally) { match in
      if excess <= 0 { return false }
      excess -= match.sizeBytes
      return true
    }
    return tally
  }

  /// - Parameter isMeant: asked of each in order of intake; false: it is the first that stays, and so do those after it.
  private func prune(
    _ filter: AttachmentFilter, _ desk: CommandDesk?, _ tally: inout Tally,
    _ isMeant: (AttachmentMatch) -> Bool
  ) throws {
    var mark: PageMark?
    repeat {
      if !isWanted() { return }
      let page = try ledger.matches(filter, after: mark, limit: 500)
      let meant = page.rows.prefix(while: isMeant)
      var isDeleted = Array(repeating: true, count: meant.count)
      if let desk, !meant.isEmpty {
        let commands = meant.map {
          Command.attachment(AttachmentCommand($0.id, .delete(by: "sluice prune"), only: filter.statuses))
        }
        isDeleted = try desk.apply(commands).map { $0 == .done(hasChanged: true) }
      }
      for (match, isDeleted) in zip(meant, isDeleted) where isDeleted {
        tally.attachments += 1
        tally.bytes &+= match.sizeBytes
        tally.statuses[match.status, default: 0] += 1
        if match.status == .completed { tally.completedBytes &+= match.sizeBytes }
      }
      if meant.count < page.rows.count { return }
      mark = page.next
    } while mark != nil
  }
}

/// `sluice prune`: deletes what the pipeline keeps no longer.
struct PruneVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "prune", abstract: "Delete what the pipeline's `keep` keeps no longer.",
    discussion: """
      `keep` in the pipeline file says how long attachments are kept since they ended, by status, and how many bytes of
      completed ones; what it does not name is kept. `sluice run` does the same by itself. Each is deleted as by
      `sluice delete`.
      """,
    options: [.config, AttachmentVerb.dryRun, .home, .format, .quiet, .noColor],
    example: "sluice prune --dry-run")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let file = try Environment.pipelineFile(arguments)
    let rules = try Environment.pipeline(file: file, home: nil).definition.keep
    if rules.isEmpty {
      throw CommandError(
        .configuration,
        "\(file) has no 'keep'; add for instance 'keep: { completed: 90d, rejected: 7d, bytes: 500GB }'")
    }
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    let isDryRun = arguments.flag("dry-run")
    let tally = try Pruning(rules: rules, ledger: ledger).run(isDryRun ? nil : CommandDesk(home))
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "prune")
        writer.member("dryRun", isDryRun)
        writer.member("attachments", Int64(tally.attachments))
        writer.member("bytes", tally.bytes)
        for status in Status.allCases where status.isFinal {
          writer.member(status.rawValue, Int64(tally.statuses[status] ?? 0))
        }
      }
      Terminal.out(writer.text + "\n")
    } else if !arguments.flag("quiet") {
      let parts = Status.allCases.compactMap { status in
        tally.statuses[status].map { "\($0) \(status.rawValue)" }
      }
      Terminal.out(
        "\(Count.text(tally.attachments, "attachment")) with \(ByteSize.rounded(tally.bytes)) "
          + "\(isDryRun ? "would be deleted" : "deleted")"
          + (parts.isEmpty ? "\n" : ": \(parts.joined(separator: ", "))\n"))
    }
    return .success
  }
}

/// Prunes now and then while a coordinator runs, as `sluice prune` does beside it.
final class Pruner: Sendable {
  private let end: Mailbox<Void>

  /// - Parameter rules: not empty.
  init(_ home: Home, _ rules: KeepRules) throws(SystemError) {
    // A tenth of the shortest age: what is not kept any more is gone soon after.
    let shortest = rules.ages.values.min() ?? .max
    let interval = Int(min(max(shortest / 10, 1000), 3_600_000))
    let end = Mailbox<Void>(capacity: 1)
    self.end = end
    let thread = try Thread {
      var wait = min(interval, 10_000)
      // Empty: it has ended.
      while end.receive(within: wait) == nil {
        wait = interval
        do {
          let pruning = Pruning(
            rules: rules, ledger: try home.reader(), isWanted: { end.receive(within: 0) == nil })
          _ = try pruning.run(CommandDesk(home))
        } catch {
          if end.receive(within: 0) != nil { return }
          Terminal.error("pruning: \(error); it is tried again in \(Interval.text(Int64(interval)))")
        }
      }
    }
    // It may be waiting for an answer of the coordinator that ends.
    thread.detach()
  }

  /// Begins nothing more.
  func stop() { end.close() }
}
