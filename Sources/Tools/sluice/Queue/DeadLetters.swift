import LedgerPort

/// `sluice dead-letters list`: deliveries that were given up.
struct DeadLettersList: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "dead-letters list", abstract: "List deliveries that have used up their tries.", arguments: "[ID…]",
    options: DeliveryVerb.options + [.home, .format, .noColor],
    example: "sluice dead-letters list --channel webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
  }

  func run() throws -> ExitCode {
    try DeliveryVerb.list(arguments, DeliveryVerb.filter(arguments, [.dead]))
  }
}

/// `sluice dead-letters retry`: tries them again.
struct DeadLettersRetry: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "dead-letters retry", abstract: "Try dead letters again.", arguments: "[ID…]",
    discussion: """
      Without an ID, a channel or a code, all of them. Their tries count anew; the event keeps its id, so that a receiver
      knows one that it has had. With an ID, one that was dropped comes back, too.
      """,
    options: DeliveryVerb.changing, example: "sluice dead-letters retry --channel webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
  }

  func run() throws -> ExitCode {
    try DeliveryVerb.change(
      arguments, DeliveryVerb.filter(arguments, arguments.words.isEmpty ? [.dead] : [.dead, .dropped]),
      .retry,
      name: "dead-letters retry", done: "queued again")
  }
}

/// `sluice dead-letters drop`: gives them up for good.
struct DeadLettersDrop: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "dead-letters drop", abstract: "Give dead letters up, so that nothing reminds of them.",
    arguments: "[ID…]",
    discussion: "Give ids, a channel, a code, or --all. They stay on record as dropped.",
    options: [CommandOption(name: "all", help: "All of them.")] + DeliveryVerb.changing,
    example: "sluice dead-letters drop --code gone")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
    let isLimited =
      !arguments.words.isEmpty || arguments.value("channel") != nil || arguments.value("code") != nil
    if isLimited == arguments.flag("all") {
      throw .usage("say which dead letters: ids, --channel NAME, --code CODE, or --all for every one")
    }
  }

  func run() throws -> ExitCode {
    try DeliveryVerb.change(
      arguments, DeliveryVerb.filter(arguments, [.dead]), .drop, name: "dead-letters drop", done: "dropped")
  }
}
