import LedgerPort

/// `sluice pause`: stops a lane until a person resumes it.
struct PauseVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "pause", abstract: "Stop a lane of the queue until it is resumed.", arguments: "LANE…",
    discussion: """
      Lanes are attachments, downloads, and channel:NAME of each channel. What is being worked on ends, but for downloads,
      which stop where they are and go on from there; nothing more of the lane is begun, by this coordinator and later
      ones, until `sluice resume`. Files and links are taken in all the same.
      """,
    options: [
      .home,
      CommandOption(name: "reason", value: "TEXT", help: "Why, for those who wonder later."),
      .quiet, .noColor,
    ],
    example: "sluice pause channel:webhook --reason 'the endpoint is being moved'")

  private let arguments: ParsedArguments
  private let lanes: [LaneName]

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    lanes = try arguments.words.map(QueueVerb.lane)
    try QueueVerb.checkReason(arguments)
    if lanes.isEmpty { throw .usage("give the lanes to pause: attachments, downloads, channel:NAME") }
  }

  func run() throws -> ExitCode {
    let pause = Pause(
      .person, code: "paused", reason: arguments.value("reason") ?? Pause.unexplained, by: QueueVerb.person
    )
    let hint = Hint(arguments)
    return try QueueVerb.run(
      lanes.map { lane in
        (
          .lane(LaneCommand(lane, .pause(pause))),
          "\(lane): paused; \(hint("resume", ShellWord.of("\(lane)"))) lifts it",
          "\(lane): was paused before"
        )
      }, arguments)
  }
}
