import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform

/// `sluice backup`: a copy of the ledger, made while a coordinator may be running.
struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "backup", abstract: "Copy the ledger, also while an ingest works on it.", arguments: "FILE",
    discussion: """
      The copy is of one moment, is checked, and has its name once it is whole and synced. Objects are files: copy the
      store by what you have, after the ledger, so that no row of the copy lacks its object.

      To restore, with no ingest at work: put FILE at sluice.db in the home, take sluice.db-wal and sluice.db-shm away,
      and run `sluice verify --repair`. Objects that are newer than the copy go to lost+found; the next ingest of the
      same files stores them anew, and tells recipients again, under new ids.
      """,
    options: [
      CommandOption(
        name: "force", letter: "f", help: "Replace FILE where it is an earlier copy, outside the home."),
      .home, .format, .quiet,
    ],
    example: "sluice backup --home /var/lib/sluice /backup/sluice-$(date +%F).db")

  private let arguments: ParsedArguments
  private let file: String

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1, let file = arguments.words.first, !file.isEmpty, !file.hasSuffix("/")
    else {
      throw .usage("`sluice backup` needs one FILE to write the copy to")
    }
    self.arguments = arguments
    self.file = file
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    _ = try Environment.ledger(reading: home)
    let shown = Terminal.printable(file)
    var facts = stat()
    if lstat(file, &facts) == 0 && !arguments.flag("force") {
      throw CommandError.usage(
        "\(shown) is there already; give another FILE, or --force to replace an earlier copy")
    }
    let bytes = try LedgerBackup(of: home, to: file).make(replacing: arguments.flag("force"))
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "backup")
        writer.member("file", file)
        writer.member("sizeBytes", bytes)
      }
      Terminal.out(writer.text + "\n")
    } else if !arguments.flag("quiet") {
      Terminal.out("\(shown)  \(ByteSize.rounded(bytes))\n")
    }
    return .success
  }
}
