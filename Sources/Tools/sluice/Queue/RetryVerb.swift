import Ledger

/// `sluice retry`: tries attachments again, or all that waits in a lane.
struct RetryVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "retry", abstract: "Queue attachments again, or make due what waits for later.",
    arguments: "ID|LANE…",
    discussion: """
      An attachment that was rejected, failed or is in quarantine is queued again, as if it had just been taken in;
      events of a type that was told before are not told again. One that waits for its next try is due at once. Of a
      lane (attachments, channel:NAME), all that waits for later is due at once.
      """,
    options: [.home, .quiet, .noColor], example: "sluice retry channel:webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    if arguments.words.isEmpty || arguments.words.contains("") {
      throw .usage("give the attachments' ids, or lanes: attachments, channel:NAME")
    }
  }

  func run() throws -> ExitCode {
    try QueueVerb.run(arguments.words.map(command), arguments)
  }

  private func command(_ word: String) throws -> (command: Command, done: String, before: String) {
    if let lane = LaneName(word) {
      return (.lane(LaneCommand(lane, .hasten)), "\(lane): what waits is due now", "\(lane): nothing waits")
    }
    // A running coordinator works on its queue, and looks up no shortened ids.
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    let id = try Show.only(of: try ledger.attachments(idPrefix: word.lowercased()), word).origin.id
    return (.retry(RetryCommand(id)), "\(id): queued again", "\(id): is queued already")
  }
}
