import LedgerPort
import Pipeline
import Platform
import Reporting

/// `sluice report`: what became of attachments, how long it took, and why.
struct Report: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "report", abstract: "Count outcomes, reasons, types, sizes and times.", arguments: "[ID…]",
    discussion: """
      Without filters, of all attachments. As HTML it is one page with drawings that needs nothing from elsewhere, to send
      on. As CSV it has a row for each attachment, with its metadata as columns. Times are those of all attempts; medians
      and 99th percentiles are at most 1.6 percent off. Duplicates are attachments whose content another one of those
      reported had stored already.
      """,
    options: FilterOptions.all + [
      CommandOption(
        name: "output", letter: "o", value: "FILE", help: "Write to this file; - is standard output."),
      CommandOption(name: "force", letter: "f", help: "Replace FILE where it is there already."),
      .home,
      CommandOption(
        name: "format", value: "text|html|csv|json", help: "For people, a page, a table, or a JSON object.",
        choices: ["text", "html", "csv", "json"]),
      .noColor,
    ],
    example: "sluice report --since 7d --format html -o report.html")

  private let arguments: ParsedArguments
  private let limit: Int?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    _ = try FilterOptions.filter(arguments)
    limit = try FilterOptions.limit(arguments)
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    let filter = try FilterOptions.filter(arguments, in: ledger)
    let file = try arguments.value("output").flatMap { $0 == "-" ? nil : $0 }.map {
      try WholeFile($0, replaces: arguments.flag("force"), outside: home)
    }
    func write(_ text: String) throws {
      if let file { try file.write(text) } else { Terminal.out(text) }
    }
    if arguments.value("format") == "csv" {
      try AttachmentTable(ledger, filter, limit: limit).write(write)
    } else {
      try write(text(try ReportPage(ledger, filter, limit: limit, home: home)))
    }
    try file?.finish()
    return .success
  }

  private func text(_ page: ReportPage) -> String {
    switch arguments.value("format") {
    case "json": ReportJSON.text(page)
    case "html": ReportHTML.text(page)
    default: ReportText(page: page, style: Style(arguments)).text
    }
  }
}
