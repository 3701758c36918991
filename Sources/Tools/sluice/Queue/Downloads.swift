import HomeFolder
import LedgerPort
import Pipeline
import Platform

/// `sluice downloads`: what is fetched, how far it is, and what failed.
struct Downloads: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "downloads", abstract: "List downloads, with how far each is.",
    discussion: """
      One for each link, however many attachments it is for: those that are not fetched, unless --state says otherwise.
      `sluice list` shows their attachments, `sluice retry` queues what failed again, and `sluice cancel` takes back what
      is not wanted. `sluice pause downloads` stops all of them, and `sluice resume downloads` lets them go on.
      """,
    options: [
      CommandOption(
        name: "state", letter: "s", value: "STATE,…",
        help:
          "Only these, of: \(TransferRecord.State.allCases.map(\.rawValue).joined(separator: ", ")); repeatable.",
        choices: TransferRecord.State.allCases.map(\.rawValue), takesSeveral: true),
      .home, .format, .noColor,
    ],
    example: "sluice downloads --state failed")

  private let arguments: ParsedArguments
  private let states: Set<TransferRecord.State>

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    if let word = arguments.words.first {
      throw .usage("`sluice downloads` takes no '\(Terminal.printable(word))'")
    }
    let named = arguments.values("state").compactMap { TransferRecord.State(rawValue: $0) }
    states = Set(named.isEmpty ? [.waiting, .scheduled, .running, .failed] : named)
  }

  func run() throws -> ExitCode {
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    let style = Style(arguments)
    // What the last coordinator had in hand when it was lost waits for the next.
    let isWorkedOn = home.use != .free
    var mark: PageMark?
    repeat {
      let page = try ledger.transfers(after: mark, limit: 500)
      for var transfer in page.rows {
        if transfer.state == .running && !isWorkedOn { transfer.state = .waiting }
        guard states.contains(transfer.state) else { continue }
        Terminal.out(arguments.isJSON ? transfer.json : transfer.text(style))
      }
      mark = page.next
    } while mark != nil
    return .success
  }
}

extension TransferRecord {
  fileprivate func text(_ style: Style) -> String {
    var parts = [Help.pad(isHeld ? "held" : state.rawValue, 9)]
    parts += [
      attachmentId, fileName.map(Terminal.printable), Terminal.printable(name),
    ]
    .compactMap(\.self)
    switch (state, total) {
    case (.fetched, _): parts.append(ByteSize.rounded(bytes))
    case (_, let total?): parts.append("\(ByteSize.rounded(bytes)) of \(ByteSize.rounded(total))")
    case (_, nil): if bytes > 0 { parts.append(ByteSize.rounded(bytes)) }
    }
    if attachments != 1 { parts.append(Count.text(attachments, "attachment")) }
    if state == .scheduled { parts.append("again in \(Age.text(milliseconds: nextDue))") }
    if priority != 0 { parts.append("priority \(priority)") }
    if isHeld { parts.append("stands still for an urgent one") }
    if let code = saidCode {
      parts.append("(\(RecordText.reason(code, reason ?? "")))")
    }
    return parts.joined(separator: "  ") + "\n"
  }

  fileprivate var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "download")
      write(to: &writer)
    }
    return writer.text + "\n"
  }
}
