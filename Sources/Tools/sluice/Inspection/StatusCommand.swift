import Control
import Glibc
import HomeFolder
import LedgerPort
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
    let use = home.use
    let report = StatusReport(
      home: home.path, use: use,
      workers: use == .inUse ? ControlClient.workersAtWork(home, within: Self.patience) : nil,
      status: try ledger.status(), openUploads: try ledger.openUploads(of: nil, at: Clock.now()),
      isErasing: try ledger.isErasing(),
      ledgerBytes: Self.size(home.ledgerPath) + Self.size(home.ledgerPath + "-wal"),
      hint: Hint(arguments), now: Clock.now())
    Terminal.out(arguments.isJSON ? report.json : report.text(Style(arguments)))
    return .success
  }

  /// Milliseconds for which a coordinator is waited for. All else is shown without it.
  private static let patience: Int32 = 20

  private static func size(_ path: String) -> Int64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
  }
}
