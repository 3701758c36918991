import Ledger

/// `sluice show`: everything the ledger knows of one attachment.
struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "show", abstract: "Show one attachment with every attempt.", arguments: "ID",
    discussion: "An id, as `sluice list` prints it, may be shortened as long as no other begins so.",
    options: [.home, .format, .noColor],
    example: "sluice show 01981c2f-7b3a")

  private let arguments: ParsedArguments
  private let id: String

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1, let id = arguments.words.first, !id.isEmpty else {
      throw .usage("`sluice show` needs one ID; `sluice list` prints them")
    }
    self.arguments = arguments
    self.id = id
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    let record = try Self.only(of: try ledger.attachments(idPrefix: id.lowercased()), id)
    let story = AttachmentStory(
      record: record, attempts: try ledger.attempts(of: record.key),
      deliveries: try ledger.deliveries(of: record.key))
    Terminal.out(arguments.isJSON ? story.json : try story.text(Style(arguments)))
    return .success
  }

  /// The only record that matches.
  ///
  /// - Parameter id: as it was typed; ids are lower case.
  static func only(of records: [AttachmentRecord], _ id: String) throws(CommandError) -> AttachmentRecord {
    let printable = Terminal.printable(id)
    guard let first = records.first else {
      throw .usage("no attachment's id begins with '\(printable)'; `sluice list` prints them all")
    }
    if records.count == 1 || first.origin.id == id.lowercased() { return first }
    // The ledger returns at most a few; their number tells whether there are more.
    let shown = records.prefix(5).map { "  \($0.origin.id)  \($0.origin.fileName)" }
    let more = records.count > 5 ? ["  and more"] : []
    throw CommandError(.usage, ["several ids begin with '\(printable)'; write more of it:"] + shown + more)
  }
}
