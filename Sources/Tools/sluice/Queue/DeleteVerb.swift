import LedgerPort
import Pipeline

/// `sluice delete`: takes away all that is of attachments, for good.
struct DeleteVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "delete", abstract: "Delete attachments with all that is known of them, for good.",
    arguments: "[ID…]",
    discussion: """
      Their objects, records, events and deliveries go, and their message where it has no other attachment; an object that
      others have, too, stays theirs. A tombstone stays: the id, when and by whom it was deleted, and a hash by which the
      same file under the same message is not taken in again: change the file's time to have it taken in; a message of a
      mailbox file comes back under another --conversation. What was taken out of one stays: delete that before, by --parent
      with its id. Once the command has ended, or a coordinator at work has been
      idle, the home has no byte of it any more; backups, files that a channel wrote, and the sources are yours to delete.
      """,
    options: AttachmentVerb.options,
    example: "sluice delete --status rejected --until 30d")

  private static let verb = AttachmentVerb(
    name: "delete", done: "deleted", before: "deleted before, or changed meanwhile and left",
    statuses: Set(Status.allCases), isDoneByDeletion: true)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try Self.verb.check(arguments)
    // The beginning of an id is a time: a slip would delete for good what came in the same minute.
    if let short = arguments.words.first(where: { $0.utf8.count < Self.idLength }) {
      throw .usage(
        "delete takes whole ids, and '\(Terminal.printable(short))' is none; `sluice show` prints the id of the only one that begins so"
      )
    }
  }

  private static let idLength = 36

  func run() throws -> ExitCode { try Self.verb.run(arguments, .delete(by: QueueVerb.person)) }
}
