import Ledger
import Pipeline

/// `sluice list`: the attachments in the ledger, in order of intake.
struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "list", abstract: "List attachments.",
    discussion: """
      A line has the id, the status, the path, and what is known of the content; of one that was not completed, why.
      Those in the queue are listed too. JSON has the same records as `sluice ingest` prints.
      """,
    options: [
      CommandOption(
        name: "status", letter: "s", value: "STATUS,…",
        help: "Only these, of: \(Status.allCases.map(\.rawValue).joined(separator: ", ")); repeatable.",
        choices: Status.allCases.map(\.rawValue), takesSeveral: true),
      .home, .format, .noColor,
    ],
    example: "sluice list --status rejected,failed")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let named = arguments.values("status").compactMap { Status(rawValue: $0) }
    let statuses = Set(named.isEmpty ? Status.allCases : named)
    let style = Style(arguments)
    let isJSON = arguments.isJSON
    var lines = ""
    try Environment.ledger(reading: Environment.home(arguments)).attachments(statuses) { record in
      lines += isJSON ? RecordText.json(record) : "\(record.origin.id)  \(RecordText.line(record, style))"
      if lines.utf8.count > 32 << 10 {
        Terminal.out(lines)
        lines.removeAll(keepingCapacity: true)
      }
      return true
    }
    Terminal.out(lines)
    return .success
  }
}
