import Ledger

/// `sluice now`: what is asked for goes before all else.
struct NowVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "now", abstract: "Fetch links at once, before all others.", arguments: "[ID…]",
    discussion: """
      Gives attachments the priority of `sluice fetch --now`: their links are next, and other transfers stand still
      meanwhile. So links are fetched that `prefetch` in the pipeline file leaves until somebody asks. What has come
      already is next in the line of stages.
      """,
    options: AttachmentVerb.options, example: "sluice now 01a1fc34-c618-73a1-9845-ef92a0d9ed7a")

  private static let verb = AttachmentVerb(
    name: "now", done: "put before all others", before: "there before or ended meanwhile", statuses: [.queued]
  )

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try Self.verb.check(arguments)
  }

  func run() throws -> ExitCode { try Self.verb.run(arguments, .prioritize(TransferPriority.urgent)) }
}
