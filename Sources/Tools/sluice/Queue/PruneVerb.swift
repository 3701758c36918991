import LedgerPort
import Pipeline
import Platform

/// `sluice prune`: deletes what the pipeline keeps no longer.
struct PruneVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "prune", abstract: "Delete what the pipeline's `keep` keeps no longer.",
    discussion: """
      `keep` in the pipeline file says how long attachments are kept since they ended, by status, and how many bytes of
      completed ones; what it does not name is kept. `sluice run` does the same by itself. Each is deleted as by
      `sluice delete`.
      """,
    options: [.config, .trust, AttachmentVerb.dryRun, .home, .format, .quiet, .noColor],
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
