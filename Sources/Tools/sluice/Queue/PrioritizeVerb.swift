import LedgerPort

/// `sluice prioritize`: changes which attachments are next.
struct PrioritizeVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "prioritize", abstract: "Change which queued attachments are next.", arguments: "[ID…]",
    discussion: """
      Of those that are due, the one with the highest priority is next; of equal ones, the one that was taken in first.
      What is being worked on goes on. Without a priority of its own, an attachment has 0.
      """,
    options: [
      CommandOption(name: "priority", letter: "p", value: "N", help: "The new priority; it may be negative.")
    ] + AttachmentVerb.options,
    example: "sluice prioritize --conversation board --priority 10")

  private static let verb = AttachmentVerb(
    name: "prioritize", done: "given the priority", before: "had it before or ended meanwhile",
    statuses: [.queued])

  private let arguments: ParsedArguments
  private let priority: Int64

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    guard let priority = try arguments.integer("priority") else {
      throw .usage("say which priority, with --priority N; 0 is the usual one")
    }
    self.priority = priority
    try Self.verb.check(arguments)
  }

  func run() throws -> ExitCode { try Self.verb.run(arguments, .prioritize(priority)) }
}
