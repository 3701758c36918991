import Ledger

/// `sluice resume`: lets a lane go on.
struct ResumeVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "resume", abstract: "Let a lane go on that was paused, by a person or by a fault.",
    arguments: "LANE…",
    options: [.home, .quiet, .noColor], example: "sluice resume channel:webhook")

  private let arguments: ParsedArguments
  private let lanes: [LaneName]

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    lanes = try arguments.words.map(QueueVerb.lane)
    if lanes.isEmpty { throw .usage("give the lanes to resume: attachments, downloads, channel:NAME") }
  }

  func run() throws -> ExitCode {
    try QueueVerb.run(
      lanes.map { (.lane(LaneCommand($0, .resume(nil))), "\($0): resumed", "\($0): was not paused") },
      arguments)
  }
}
