import LedgerPort
import Pipeline

/// `sluice retry`: tries attachments again, or all that waits in a lane.
struct RetryVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "retry", abstract: "Queue attachments again, or make due what waits for later.",
    arguments: "[ID|LANE…]",
    discussion: """
      Attachments that were rejected, failed, cancelled or are in quarantine are queued again, before those that were
      taken in after them; events of a type that was told before are not told again. Those that wait for their next try
      are due at once. Of a lane (attachments, downloads, channel:NAME), all that waits for later is due at once; with
      --now, of every lane. `sluice dead-letters retry` is for deliveries that were given up.
      """,
    options: [CommandOption(name: "now", help: "Make all that waits for later due, in every lane.")]
      + AttachmentVerb.options,
    example: "sluice retry --status quarantined --stage pdf")

  private static let verb = AttachmentVerb(
    name: "retry", done: "queued again", before: "queued already",
    statuses: [.queued, .rejected, .failed, .quarantined, .cancelled], queues: true)

  private let arguments: ParsedArguments
  private let lanes: [LaneName]

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    lanes = arguments.words.compactMap { LaneName($0) }
    if arguments.flag("now") {
      if lanes.count == arguments.words.count, !lanes.isEmpty {
        throw .usage("what waits in the lanes that are named is due at once without --now, too; leave it out")
      }
      if FilterOptions.areGiven(arguments) {
        throw .usage("--now is for all that waits; leave it out, or the ids and filters")
      }
    } else if lanes.isEmpty {
      if arguments.values("status").contains(Status.completed.rawValue) {
        throw .usage(
          "completed attachments have nothing to try again; `sluice replay --diff --apply` works on those again that a changed "
            + "pipeline would decide otherwise")
      }
      try Self.verb.check(arguments)
    } else if lanes.count < arguments.words.count {
      throw .usage("give lanes or ids of attachments, not both; two commands do both")
    }
  }

  func run() throws -> ExitCode {
    if lanes.isEmpty && !arguments.flag("now") { return try Self.verb.run(arguments, .retry) }
    var lanes = lanes
    if arguments.flag("now") {
      lanes = try Environment.ledger(reading: Environment.home(arguments)).status().lanes.map(\.name)
    }
    let commands = lanes.map {
      (Command.lane(LaneCommand($0, .hasten)), "\($0): what waits is due now", "\($0): nothing waits")
    }
    if commands.isEmpty {
      if !arguments.flag("quiet") { Terminal.out("nothing waits\n") }
      return .success
    }
    return try QueueVerb.run(commands, arguments, queues: true)
  }
}
