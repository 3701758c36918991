import Glibc
import HomeFolder
import LedgerPort
import Platform

/// `sluice rekey`: seals what is sealed with the newest key.
struct Rekey: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "rekey", abstract: "Seal what is sealed with the newest key.",
    discussion: """
      Name the new key in the pipeline file under `key` of `secrets`, and those before under `old`; stop every coordinator.
      Links, and what servers said of them, are sealed anew, 500 rows in one transaction: a command that was killed goes on
      where it was when it is given again. Then nothing of the old values is left in the ledger and its log, and the old
      keys can be taken out of the pipeline file. Backups that were made before need them still.

      Where a key is lost, nothing that it sealed opens again. With --give-up-lost such rows stay as they are, and links
      that are fetched from now on are known again; those from before are fetched once more where somebody asks for them.
      """,
    options: [
      .config, .trust, .home,
      CommandOption(
        name: "give-up-lost", help: "Leave what is sealed with a key that is not among those given."),
      .format, .quiet, .noColor,
    ],
    example: "sluice rekey --home /var/lib/sluice")

  /// Rows in one transaction.
  private static let batch = 500

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    var (rows, lost): (Int64, Int64) = (0, 0)
    if try !Environment.ledger(reading: home).sealedRows().isEmpty { (rows, lost) = try reseal(home) }
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "rekey")
        writer.member("resealed", rows)
        writer.member("lost", lost)
      }
      Terminal.out(writer.text + "\n")
    } else if !arguments.flag("quiet") {
      Terminal.out(
        rows == 0
          ? "nothing is sealed with an older key\n"
          : "\(Count.text(rows, "row")) sealed anew; the old keys can be taken out of the pipeline file\n")
      if lost > 0 {
        Terminal.out(
          "\(Count.text(lost, "row")) left as they are: their key is lost; a later rekey needs --give-up-lost, too\n"
        )
      }
    }
    return .success
  }

  private func reseal(_ home: Home) throws -> (rows: Int64, lost: Int64) {
    let rules = try Environment.secretRules(arguments)
    let lock = try Self.lock(home)
    defer { withExtendedLifetime(lock) {} }
    let ledger = try home.join { try HomeKey(home, $0, rules) }
    defer { try? ledger.leave() }  // nothing is in its hands
    var (rows, lost): (Int64, Int64) = (0, 0)
    var last: Int64? = 0
    while let after = last {
      let resealed = try page(ledger, after: after)
      (rows, lost) = (rows + resealed.rows, lost + resealed.lost)
      last = resealed.last
    }
    // What an earlier command had sealed anew, and was killed, is erased as well.
    if try !ledger.eraseReplaced() {
      throw CommandError(
        .temporary,
        "all rows are sealed anew, and the ledger's log has old values still, since another command reads it; run the same "
          + "command again")
    }
    return (rows, lost)
  }

  private static func lock(_ home: Home) throws -> HomeLock {
    do {
      return try home.lock()
    } catch {
      guard error.code == .inUse else { throw error }
      throw CommandError(
        .temporary, "\(home.path) is in use; stop its coordinator first: no other may seal meanwhile")
    }
  }

  private func page(_ ledger: any LedgerMaintenance, after key: Int64) throws -> Resealed {
    do {
      return try ledger.resealRows(after: key, limit: Self.batch, givesUpLost: arguments.flag("give-up-lost"))
    } catch {
      // That a key is missing is said by what opens, with the next step.
      throw error.cause ?? error
    }
  }
}
