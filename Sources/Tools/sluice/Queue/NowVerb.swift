import LedgerPort

/// `sluice now`: what is asked for goes before all else.
struct NowVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "now", abstract: "Fetch links at once, before all others.", arguments: "[ID…]",
    discussion: """
      Gives attachments the priority of `sluice fetch --now`: their links are next, and other transfers stand still
      meanwhile. So links are fetched that `prefetch` in the pipeline file leaves until they are asked for. What has
      come already is next in the line of stages. What came without a link stays as it is.
      """,
    options: AttachmentVerb.options, example: "sluice now 01a1fc34-c618-73a1-9845-ef92a0d9ed7a")

  private static let verb = AttachmentVerb(
    name: "now", done: "put before all others", before: "there before, ended meanwhile, or without a link",
    statuses: [.queued], queues: true)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try Self.verb.check(arguments)
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    var filter = try FilterOptions.filter(arguments, in: ledger)
    // An attachment that is named by its id is meant with any status: the answer says why where nothing can be done.
    if arguments.values("status").isEmpty && filter.ids == nil { filter.statuses = [.queued] }
    // Only what is named by its id is counted without a link: of others none is meant.
    func named() throws -> Int {
      filter.ids == nil ? 0 : try Selected(ledger: ledger, filter: filter).count().matched
    }
    let all = try named()
    filter.hasLink = true
    return try Self.verb.run(
      arguments, .prioritize(TransferPriority.urgent), filter, before: all - (try named()))
  }
}
