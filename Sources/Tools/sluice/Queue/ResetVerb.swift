import LedgerPort
import Pipeline

/// `sluice reset`: empties a lane.
struct ResetVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "reset", abstract: "Empty a lane: cancel its attachments, or drop its deliveries.",
    arguments: "LANE",
    discussion: """
      Of attachments, all that are queued are cancelled, as with `sluice cancel --status queued`; of downloads, those
      whose links are not fetched. Of channel:NAME, all deliveries that wait are dropped; `sluice dead-letters retry ID`
      brings one back. A pause stays.
      """,
    options: [AttachmentVerb.dryRun, .home, .format, .quiet, .noColor],
    example: "sluice reset channel:webhook")

  private let arguments: ParsedArguments
  private let lane: LaneName

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    guard arguments.words.count == 1, let word = arguments.words.first else {
      throw .usage("give the lane to empty: attachments, downloads, channel:NAME")
    }
    lane = try QueueVerb.lane(word)
  }

  func run() throws -> ExitCode {
    switch lane.kind {
    case .attachments:
      let verb = AttachmentVerb(
        name: "reset", done: "cancelled", before: "ended already", statuses: [.queued])
      return try verb.run(
        arguments, .cancel("\(QueueVerb.person) emptied the lane"), AttachmentFilter(statuses: [.queued]))
    case .channel:
      var filter = DeliveryFilter(statuses: [.pending])
      filter.channel = lane.name
      return try DeliveryVerb.change(arguments, filter, .drop, name: "reset", done: "dropped")
    case .downloads:
      let verb = AttachmentVerb(
        name: "reset", done: "cancelled", before: "ended already", statuses: [.queued])
      var links = AttachmentFilter(statuses: [.queued])
      links.isWaitingForLink = true
      return try verb.run(arguments, .cancel("\(QueueVerb.person) emptied the lane"), links)
    }
  }
}
