import LedgerPort

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
    let home = Environment.home(arguments)
    let standing = Environment.lacksLedger(home) ? [] : try Environment.ledger(reading: home).status().lanes
    return try QueueVerb.run(
      lanes.map { name in
        let pause = standing.first { $0.name == name }?.pause
        // A person cannot lift that: the lane would stand again at once.
        let done =
          pause.flatMap {
            PauseText.isCondition($0) ? "\(name): stands until its time, \(PauseText.text($0))" : nil
          }
        return (.lane(LaneCommand(name, .resume(nil))), done ?? "\(name): resumed", "\(name): was not paused")
      }, arguments)
  }
}
