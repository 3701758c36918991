import LedgerPort
import Platform

/// `sluice refresh`: gives a download a new link to the same bytes.
struct RefreshVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "refresh", abstract: "Give a download a new link to the same bytes.", arguments: "ID LINK",
    discussion: """
      For a link that servers do not take any more (link-expired), or soon will not. ID is that of an attachment; the new
      link is for all that share its download, which is due at once. It goes on from where it was if the new link has the
      same scheme, host and port, or the size or the SHA-256 of the content was announced; else from the start. Method,
      body, credential and what was announced stay as they are. In the place of the link, `-` reads it from standard
      input: words of a command line can be seen by other users of the machine. Without a running `sluice run` the pipeline
      is read, which names the key that seals the link.
      """,
    options: [Fetch.expiresAt, .config, .trust, .home, .format, .quiet, .noColor],
    example: "sluice refresh 01981c2f-7b3a https://files.example.com/a.pdf")

  /// The longest link, in bytes.
  private static let linkLimit = 8192

  private let arguments: ParsedArguments
  private let id: String
  private let link: String?
  private let expiresAt: Int64?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    // What is wrong may hold a secret, and is not shown.
    guard arguments.words.count == 2, !arguments.words[0].isEmpty else {
      throw .usage(
        "`sluice refresh` needs an ID and a LINK; `sluice list --code link-expired` prints the ids")
    }
    self.arguments = arguments
    (id, link) = (arguments.words[0], arguments.words[1] == "-" ? nil : arguments.words[1])
    if let link, !Self.isLink(link) { throw Self.noLink }
    expiresAt = try Fetch.expiry(arguments)
  }

  private static func isLink(_ text: String) -> Bool { LinkPlace(text) != nil }

  private static let noLink = CommandError.usage(
    "the second word is no link; give one such as https://files.example.com/a.pdf")

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let record = try AttachmentLookup(try Environment.ledger(reading: home), home, Hint(arguments))
      .attachment(id)
    let desk = try CommandDesk(home) {
      try Environment.join(
        home,
        Environment.pipeline(file: Environment.pipelineFile(arguments), home: home, isStart: true).definition)
    }
    let command = RefreshCommand(record.origin.id, url: try link ?? Self.linkOfInput(), expiresAt: expiresAt)
    guard let result = try desk.apply([.refresh(command)]).first else { return .internalError }
    let code = tell(record.origin.id, result)
    if result == .done(hasChanged: true) { desk.tellWhatStands(arguments) }
    return code
  }

  /// The link on standard input, without the end of its line.
  private static func linkOfInput() throws(CommandError) -> String {
    guard let line = readLine(), line.utf8.count <= linkLimit, isLink(line) else {
      throw .usage("standard input holds no link; write one such as https://files.example.com/a.pdf to it")
    }
    return line
  }

  private func tell(_ id: String, _ result: CommandResult) -> ExitCode {
    var refusal: String?
    if case .refused(let reason) = result { refusal = reason }
    let hasChanged = result == .done(hasChanged: true)
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "refresh")
        writer.member("id", id)
        writer.member("changed", hasChanged)
        writer.member("refused", refusal)
      }
      Terminal.out(writer.text + "\n")
    } else if let refusal {
      Terminal.error(Terminal.printable(refusal))
    } else if !arguments.flag("quiet") {
      Terminal.out(
        hasChanged
          ? "attachment \(id) waits for its new link\n" : "attachment \(id) waited for this link before\n")
    }
    return refusal == nil ? .success : .incomplete
  }
}
