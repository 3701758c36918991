import HomeFolder
import LedgerPort
import Platform

/// `sluice show`: everything the ledger knows of one attachment.
struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "show", abstract: "Show one attachment with every attempt, and what leads on.", arguments: "ID",
    discussion: """
      An id, as `sluice list` prints it, may be shortened as long as no other begins so. In its place the path of the
      object, as in `url`, or that of the source will do. Of a deleted attachment, what is left is shown: by whom and when.
      """,
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
    let home = Environment.home(arguments)
    let hint = Hint(arguments)
    let ledger = try Environment.ledger(reading: home)
    switch try AttachmentLookup(ledger, home, hint).find(id) {
    case .tombstone(let tombstone):
      Terminal.out(arguments.isJSON ? TombstoneText.json(tombstone) : TombstoneText.text(tombstone))
    case .attachment(let record):
      let story = try ledger.snapshot {
        AttachmentStory(
          record: record, attempts: try ledger.attempts(of: record.key),
          deliveries: try ledger.deliveries(of: record.key), place: try ledger.place(of: record.key),
          lanes: try ledger.status().lanes, children: try ChildrenText(of: record, in: ledger),
          parentName: try record.origin.parentId.flatMap {
            try ledger.attachments(idPrefix: $0).first?.origin.fileName
          }, use: home.use, hint: hint, now: Clock.now())
      }
      Terminal.out(arguments.isJSON ? story.json : try story.text(Style(arguments)))
    }
    return .success
  }

  /// The only record that matches.
  ///
  /// - Parameter id: as it was typed; ids are lower case.
  static func only(of ledger: any LedgerQueries, _ id: String, _ hint: Hint) throws -> AttachmentRecord {
    let records = try ledger.attachments(idPrefix: id.lowercased())
    let printable = Terminal.printable(id)
    guard let first = records.first else {
      if let tombstone = try ledger.tombstones(idPrefix: id.lowercased()).first {
        throw CommandError.usage(
          "attachment \(tombstone.id) was deleted at \(Clock.timestamp(tombstone.deletedAt)) by "
            + Terminal.printable(tombstone.deletedBy))
      }
      throw CommandError.usage(
        "no attachment's id begins with '\(printable)'; \(hint("list")) prints them all")
    }
    if records.count == 1 || first.origin.id == id.lowercased() { return first }
    // The ledger returns at most a few; their number tells whether there are more.
    let shown = records.prefix(5).map { "  \($0.origin.id)  \($0.origin.fileName)" }
    let more = records.count > 5 ? ["  and more"] : []
    throw CommandError(.usage, ["several ids begin with '\(printable)'; write more of it:"] + shown + more)
  }
}
