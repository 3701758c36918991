import Glibc
import LedgerPort
import Pipeline
import Platform

/// `sluice get`: the object of an attachment.
struct Get: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "get", abstract: "Copy the object of an attachment out of the store.", arguments: "ID",
    discussion: """
      The bytes are compared with the SHA-256 on record. They go to standard output, after all of them were checked; or
      to a file, which has its name once it is whole and synced. Content that could act on a terminal is not printed
      there. With --derived it is an object that a stage derived, such as the thumbnail. The ID may be shortened, or be
      the path of the object or of the source, as for `sluice show`.
      """,
    options: [
      CommandOption(
        name: "output", letter: "o", value: "FILE", help: "Write to this file; - is standard output."),
      CommandOption(
        name: "derived", value: "NAME", help: "An object that a stage derived, in the place of its own."),
      CommandOption(name: "force", letter: "f", help: "Replace FILE where it is there already."),
      .home, .quiet,
    ],
    example: "sluice get 01981c2f-7b3a -o invoice.pdf")

  private let arguments: ParsedArguments
  private let id: String
  /// `nil`: standard output.
  private let file: String?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1, let id = arguments.words.first, !id.isEmpty else {
      throw .usage("`sluice get` needs one ID; `sluice list` prints them")
    }
    self.arguments = arguments
    self.id = id
    file = arguments.value("output").flatMap { $0 == "-" ? nil : $0 }
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let hint = Hint(arguments)
    let ledger = try Environment.ledger(reading: home)
    let record = try AttachmentLookup(ledger, home, hint).attachment(id)
    let derived = arguments.value("derived")
    guard let object = try ObjectBytes(of: record, derived, in: home, ledger, hint) else {
      throw derived.map { Self.without($0, record) } ?? Self.withoutObject(record, hint)
    }
    guard let file else { return try print(object, hint) }
    let target = try WholeFile(file, replaces: arguments.flag("force"), outside: home)
    try object.read(target.write)
    try target.finish()
    if !arguments.flag("quiet") {
      Terminal.out("\(Terminal.printable(file))  \(ByteSize.rounded(object.size))\n")
    }
    return .success
  }

  // MARK: Standard output

  /// Prints the object, once all of it was read and is as recorded.
  private func print(_ object: borrowing ObjectBytes, _ hint: Hint) throws -> ExitCode {
    var text = PlainText()
    let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
    try object.read { if isTerminal { text.add($0) } }
    if isTerminal && !text.isWhole {
      throw CommandError.usage(
        "the object is no plain text, and could act on the terminal; \(hint("get", ShellWord.of(id), "-o FILE")) writes it "
          + "to a file")
    }
    do {
      try object.read { bytes in
        let error = Descriptor.writeAll(bytes, to: STDOUT_FILENO).error
        if error == EPIPE { throw ReaderLeft() }
        if error == 0 { return }
        throw CommandError(
          .incomplete,
          "standard output: \(String(cString: strerror(error))); what was printed is not all of the object: run the command "
            + "again")
      }
    } catch is ReaderLeft {}
    return .success
  }

  /// The reader of the output has enough, as `head` does: there is nothing to report.
  private struct ReaderLeft: Error {}

  // MARK: No object

  private static func without(_ derived: String, _ record: AttachmentRecord) -> CommandError {
    let names = record.outcome.derived.map(\.name).joined(separator: ", ")
    let there = names.isEmpty ? "no stage has derived anything from it" : "there are: \(names)"
    return CommandError(
      .incomplete,
      "attachment \(record.origin.id) has no derived object '\(Terminal.printable(derived))'; \(there)")
  }

  private static func withoutObject(_ record: AttachmentRecord, _ hint: Hint) -> CommandError {
    let (id, status) = (record.origin.id, record.outcome.status)
    switch status {
    case .queued:
      return CommandError(
        .temporary,
        "attachment \(id) is queued, and has no object yet; \(hint("show", id)) says what it waits for")
    case .completed:
      return CommandError(
        .incomplete,
        "attachment \(id) is completed, and its pipeline has stored nothing; the stage `store` keeps a copy, and the source was "
          + Terminal.printable(record.sourceName))
    case .rejected, .failed, .quarantined, .cancelled:
      let reason = record.outcome.reason.map {
        " (\($0.stage): \(RecordText.reason($0.code, $0.message)))"
      }
      return CommandError(
        .incomplete,
        "attachment \(id) is \(status.rawValue)\(reason ?? ""), and has no object; \(hint("retry", id)) tries it again, "
          + "\(hint("show", id)) tells more")
    }
  }
}
