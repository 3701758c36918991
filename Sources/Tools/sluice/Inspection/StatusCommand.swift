import Glibc
import Ledger
import Pipeline
import Platform

/// `sluice status`: the queue, paused lanes, the counts of each outcome, and the sizes. All but the size of the ledger's file is
/// what the ledger counts, so that it takes as long with a million attachments as with one.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "status", abstract: "Show the queue, the lanes and the sizes.",
    discussion: """
      It reads beside an ingest at work. The sizes are what the ledger counts: equal content counts for each attachment
      that has it. `du` measures what lies in the store.
      """,
    options: [.home, .format, .noColor],
    example: "sluice status --home /var/lib/sluice")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    let report = StatusReport(
      home: home.path, use: home.use, status: try ledger.status(), isErasing: try ledger.isErasing(),
      ledgerBytes: Self.size(home.ledgerPath) + Self.size(home.ledgerPath + "-wal"),
      hint: Hint(arguments), now: Clock.now())
    Terminal.out(arguments.isJSON ? report.json : report.text(Style(arguments)))
    return .success
  }

  private static func size(_ path: String) -> Int64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
  }
}
