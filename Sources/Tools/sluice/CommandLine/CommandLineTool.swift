import Configuration
import Identity
import LedgerPort
import Platform
import Scheduler
import Sealing
import Workbench

/// Finds the command, runs it, and turns every error into the user's text. This happens nowhere else.
enum CommandLineTool {
  static var commands: [any ParsableCommand.Type] {
    [
      Ingest.self, Run.self, Serve.self, Enqueue.self, Fetch.self,
      RetryVerb.self, RefreshVerb.self, CancelVerb.self, PrioritizeVerb.self, NowVerb.self, DeleteVerb.self,
      PruneVerb.self,
      PauseVerb.self, ResumeVerb.self, ResetVerb.self,
      TokensAdd.self, TokensList.self, TokensRevoke.self, UsersAdd.self, UsersList.self,
      UsersShow.self, UsersPassword.self, UsersDisable.self, UsersEnable.self, UsersErase.self,
      Send.self, Conversations.self, ConversationsBegin.self, Messages.self, Search.self,
      Downloads.self, Deliveries.self, DeadLettersList.self, DeadLettersRetry.self, DeadLettersDrop.self,
      StatusCommand.self, List.self, Show.self, Get.self, Report.self, Watch.self, Replay.self, Verify.self,
      Backup.self, Rekey.self, CheckCommand.self, Lint.self, Graph.self, SchemaCommand.self,
      Test.self, StagesList.self, StagesNew.self,
      StagesRun.self, StagesCheck.self, StagesInspect.self, StagesDoctor.self,
      Doctor.self, Version.self, Completions.self,
    ]
  }

  static func run(_ arguments: [String]) -> ExitCode {
    do {
      let code = try dispatch(arguments)
      return code == .success && Terminal.isOutBroken ? .incomplete : code
    } catch let error as CommandError {
      for (number, message) in error.messages.enumerated() {
        Terminal.error(message, prefix: number == 0 ? "sluice: " : "")
      }
      return error.exitCode
    } catch let error as WorkbenchError {
      Terminal.error(error.description)
      switch error.code {
      case .refused, .configuration: return .configuration
      case .interrupted: return .temporary
      case .system: return .internalError
      }
    } catch let error as ConfigurationError {
      tell(error.diagnostics)
      return .configuration
    } catch let error as IdentityError {
      Terminal.error("serve: \(error)")
      return .configuration
    } catch let error as SealingError {
      Terminal.error(error.description)
      return error.isConfiguration ? .configuration : .internalError
    } catch let error as LedgerError {
      Terminal.error(error.description)
      return exitCode(for: error.code)
    } catch let error as SchedulerError {
      Terminal.error(error.description)
      switch error.code {
      case .configuration: return .configuration
      case .ledger(let error): return exitCode(for: error.code)
      case .store, .home: return .temporary
      case .system(let error): return error.isLasting ? .configuration : .internalError
      }
    } catch let error as SystemError {
      Terminal.error(error.advice)
      return error.isLasting ? .configuration : .internalError
    } catch {
      Terminal.error("\(error)")
      return .internalError
    }
  }

  /// Prints one line for each diagnostic. Text from stages cannot begin a new line.
  static func tell(_ diagnostics: [Diagnostic]) {
    var tally = ProblemTally()
    for diagnostic in diagnostics where tally.admits(diagnostic.problem) {
      Terminal.error(diagnostic.description, prefix: "")
    }
    for line in tally.rest { Terminal.error(line, prefix: "") }
  }

  private static func exitCode(for code: LedgerError.Code) -> ExitCode {
    switch code {
    case .inUse, .full, .unavailable, .indeterminate, .fenced: .temporary
    case .otherVersion, .unwritable: .configuration
    case .damaged, .other: .internalError
    }
  }

  private static func dispatch(_ arguments: [String]) throws -> ExitCode {
    guard let first = arguments.first else {
      Terminal.out(Help.overview)
      return .usage
    }
    if first == "--help" || first == "-h" || first == "help" && arguments.count == 1 {
      Terminal.out(Help.overview)
      return .success
    }
    if first == "--version" { return try dispatch(["version"]) }
    if first == "help" { return try dispatch(Array(arguments.dropFirst()) + ["--help"]) }
    for count in [2, 1] where arguments.count >= count {
      let name = arguments.prefix(count).joined(separator: " ")
      guard let command = commands.first(where: { $0.configuration.name == name }) else { continue }
      let rest = Array(arguments.dropFirst(count))
      if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        Terminal.out(Help.text(command.configuration))
        return .success
      }
      let arguments = try ParsedArguments(rest, for: command.configuration)
      for path in arguments.values("trust") { TrustedPath.trust(path) }
      let parsed = try command.init(arguments)
      if command != Version.self && command != Completions.self { try ProcessLimits.check() }
      return try parsed.run()
    }
    if arguments.dropFirst().first == "--help" || arguments.dropFirst().first == "-h" {
      let group = commands.map { $0.configuration }.filter { $0.name.hasPrefix(first + " ") }
      if !group.isEmpty {
        Terminal.out(Help.list(group))
        return .success
      }
    }
    throw unknown(arguments)
  }

  private static func unknown(_ arguments: [String]) -> CommandError {
    let names = commands.map { $0.configuration.name }
    let first = arguments[0]
    let following = names.filter { $0.hasPrefix(first + " ") }.map { String($0.dropFirst(first.count + 1)) }
    if !following.isEmpty {
      guard arguments.count > 1 else {
        return .usage("`sluice \(first)` needs one of: \(following.joined(separator: ", "))")
      }
      let near = Suggestion.remedy(for: arguments[1], among: following)
      let remedy = near.isEmpty ? "; there are: \(following.joined(separator: ", "))" : near
      return .usage("unknown command '\(first) \(Terminal.printable(arguments[1]))'\(remedy)")
    }
    let verbs = names.map { String($0.split(separator: " ")[0]) }
    return .usage(
      "unknown command '\(Terminal.printable(first))'\(Suggestion.remedy(for: first, among: verbs)) (`sluice --help` lists them)"
    )
  }
}
