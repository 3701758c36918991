import CPlatform
import Glibc
import LedgerPort
import Platform

/// `sluice watch`: the queue as it changes, on a terminal or as lines of JSON.
struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "watch", abstract: "Show the queue live, or print changes as they happen.",
    discussion: """
      On a terminal: the lanes, the rates, the workers and the last failures. Up and down choose a lane, p pauses it, r
      resumes it, q quits. With --format json: a line for each change, with the record as it is now, until it is
      interrupted. Each line has a `position`: with --since, the command goes on after it and repeats nothing but changes
      of the same transaction. A line `restart` says that this cannot be: then read everything anew, and go on from its
      position.
      """,
    options: [
      CommandOption(
        name: "since", value: "POSITION",
        help: "With --format json: what changed after this; else what changes from now on."),
      .home, .format, .noColor,
    ],
    example: "sluice watch --format json --since 4611686018427387904-1207")

  private let arguments: ParsedArguments
  private let since: Position?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
    since = try arguments.value("since").map { text throws(CommandError) in
      guard let position = Position(text) else {
        throw .usage(
          "--since takes the `position` of a line that was printed before, not '\(Terminal.printable(text))'")
      }
      return position
    }
    if since != nil && !arguments.isJSON {
      throw .usage("--since is for lines of changes; add --format json, or leave it out")
    }
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let ledger = try WatchedLedger(home)
    if !arguments.isJSON {
      guard Terminal.isTerminal(STDIN_FILENO), Terminal.isTerminal(STDOUT_FILENO),
        Environment.variables["TERM"] != "dumb"
      else {
        throw CommandError.usage(
          "`sluice watch` draws on a terminal, and this is none; add --format json for a line for each change"
        )
      }
    }
    let signals = sluice_signalfd()
    defer { if signals >= 0 { close(signals) } }
    if arguments.isJSON {
      try WatchStream(ledger).run(since: since, signals: signals)
    } else {
      try WatchView(ledger, home, Style(arguments)).run(signals: signals)
    }
    return .success
  }
}
