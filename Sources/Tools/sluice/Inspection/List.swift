import LedgerPort
import Pipeline

/// `sluice list`: the attachments in the ledger, in order of intake, or the newest first.
struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "list", abstract: "List attachments.",
    arguments: "[ID…]",
    discussion: """
      A line has the id, the status, the path, and what is known of the content; of one that was not completed, the
      stage, the code and the sentence that say why. An upload, whose file is the home's own, has the name that its
      client gave it, and what was taken out of another has the way to it: `in/night.zip > inner.eml > r.pdf`. Those in
      the queue are listed too. JSON has the same records as `sluice ingest` prints, CSV the table of `sluice report`.
      """,
    options: FilterOptions.all + [
      CommandOption(name: "newest", help: "The newest first; else in order of intake."),
      .home,
      CommandOption(
        name: "format", value: "text|json|csv", help: "For people, a JSON object a line, or a table.",
        choices: ["text", "json", "csv"]),
      .noColor,
    ],
    example: "sluice list --status rejected,failed --newest --limit 20")

  private let arguments: ParsedArguments
  private let limit: Int?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    _ = try FilterOptions.filter(arguments)
    limit = try FilterOptions.limit(arguments)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    var filter = try FilterOptions.filter(arguments, in: ledger)
    filter.isNewestFirst = arguments.flag("newest")
    if arguments.value("format") == "csv" {
      try AttachmentTable(ledger, filter, limit: limit).write { Terminal.out($0) }
      return .success
    }
    let style = Style(arguments)
    let isJSON = arguments.isJSON
    let lineage = Lineage { try Environment.ledger(reading: Environment.home(arguments)) }
    var lines = ""
    var left = limit ?? .max
    try ledger.attachments(filter) { record in
      lines +=
        isJSON ? RecordText.json(record) : "\(record.origin.id)  \(RecordText.line(record, lineage, style))"
      left -= 1
      if lines.utf8.count > 32 << 10 {
        Terminal.out(lines)
        lines.removeAll(keepingCapacity: true)
      }
      return left > 0
    }
    Terminal.out(lines)
    if left == limit ?? .max, FilterOptions.areGiven(arguments), !isJSON {
      Terminal.error("no attachment answers to that")
    }
    return .success
  }
}
