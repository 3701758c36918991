import LedgerPort

/// `sluice cancel`: takes attachments back that have not ended.
struct CancelVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "cancel", abstract: "Take attachments back that have not ended.", arguments: "[ID…]",
    discussion: """
      They end as cancelled: no other stage gets their content, and the participants are told by the stages at the end. A
      stage that is working on one can ask whether it is cancelled; one that goes on for two seconds more is ended. In a
      paused lane, and where no coordinator runs, they end once it goes on. `sluice retry` takes it back.
      """,
    options: [CommandOption(name: "reason", value: "TEXT", help: "Why, for those who wonder later.")]
      + AttachmentVerb.options,
    example: "sluice cancel --conversation team-7 --reason 'sent by mistake'")

  private static let verb = AttachmentVerb(
    name: "cancel", done: "cancelled", before: "cancelled or ended already", statuses: [.queued],
    instead: "takes it back, and nothing comes out of it")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try QueueVerb.checkReason(arguments)
    try Self.verb.check(arguments)
  }

  func run() throws -> ExitCode {
    let reason = arguments.value("reason").map { ": \($0)" } ?? ""
    return try Self.verb.run(arguments, .cancel("\(QueueVerb.person) took it back\(reason)"))
  }
}
