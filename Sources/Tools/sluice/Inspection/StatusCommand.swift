import Glibc
import Ledger
import Pipeline
import Platform

/// `sluice status`: the queue, paused lanes, the counts of each outcome, and the disk usage.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "status", abstract: "Show the queue, the lanes and the sizes.",
    discussion: "It reads beside an ingest at work. The store is measured for two seconds at most.",
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
      store: StoreSize(of: home.storePath), hint: Hint(arguments), now: Clock.now())
    Terminal.out(arguments.isJSON ? report.json : report.text(Style(arguments)))
    return .success
  }

  private static func size(_ path: String) -> Int64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
  }
}
