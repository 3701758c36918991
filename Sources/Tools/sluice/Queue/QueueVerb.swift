import Glibc
import HomeFolder
import LedgerPort
import Platform

/// What the verbs that change the queue have in common.
enum QueueVerb {
  /// Applies commands to the home that the arguments name, and prints one line for each.
  ///
  /// - Parameters:
  ///   - commands: with what to say of each: once it is done, and where there was nothing to do.
  ///   - queues: what they change is to be worked on.
  static func run(
    _ commands: [(command: Command, done: String, before: String)], _ arguments: ParsedArguments,
    queues: Bool = false
  ) throws -> ExitCode {
    let home = Environment.home(arguments)
    // A home is not made by asking it for something.
    if Environment.lacksLedger(home) && !home.isInUse {
      throw CommandError.usage("\(home.path) has no ledger; give the home with --home")
    }
    let desk = try CommandDesk(home)
    let results = try desk.apply(commands.map(\.command))
    var isRefused = false
    for (command, result) in zip(commands, results) {
      switch result {
      case .refused(let reason):
        isRefused = true
        Terminal.error(reason)
      case .done(hasChanged: false):
        if !arguments.flag("quiet") { Terminal.out(command.before + "\n") }
      case .done, .takenIn, .conversation, .user:
        if !arguments.flag("quiet") { Terminal.out(command.done + "\n") }
      }
    }
    if queues && results.contains(.done(hasChanged: true)) { desk.tellWhatStands(arguments) }
    return isRefused ? .incomplete : .success
  }

  /// Refuses a reason that is too long to be shown.
  static func checkReason(_ arguments: ParsedArguments) throws(CommandError) {
    guard let reason = arguments.value("reason"), reason.utf8.count > 1000 else { return }
    throw .usage("--reason has \(reason.utf8.count) bytes where 1,000 are allowed; say it in a sentence")
  }

  /// The lane that a word names.
  static func lane(_ word: String) throws(CommandError) -> LaneName {
    if let lane = LaneName(word) { return lane }
    throw .usage("'\(word)' is no lane; lanes are attachments, downloads, and channel:NAME of each channel")
  }

  /// Who gives the command, for those who read it later.
  static var person: String {
    let user = getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? "user \(getuid())"
    return "\(user) on \(Host.name)"
  }
}
