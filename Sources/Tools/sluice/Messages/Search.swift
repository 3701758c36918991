import LedgerPort
import Platform

/// `sluice search`: finds messages.
struct Search: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "search", abstract: "Find messages by their text and their attachments, the newest first.",
    arguments: "WORD…",
    discussion: """
      Words, phrases in quotes, and the filters from:USER, in:CONVERSATION, has:pdf, before:2027-01-31 and \
      after:2027-01-31, as in the API.
      """,
    options: [
      MessageDesk.reader,
      CommandOption(
        name: "order", value: "newest|relevance", help: "Which are first; the newest are usual.",
        choices: SearchQuery.Order.allCases.map(\.rawValue)),
      CommandOption(name: "limit", value: "N", help: "At most so many; 20 is usual."), .home, .format,
      .noColor,
    ],
    example: "sluice search invoice from:ann has:pdf")

  private let arguments: ParsedArguments
  private let query: SearchQuery
  private let limit: Int

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    do throws(SearchQuery.Fault) {
      var query = try SearchQuery(arguments.words.joined(separator: " "), now: Clock.now())
      query.order = arguments.value("order").flatMap(SearchQuery.Order.init(rawValue:)) ?? .newest
      self.query = query
    } catch {
      throw .usage("a search \(error.message)")
    }
    limit = Int(try arguments.integer("limit") ?? 20)
  }

  func run() throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    let user = arguments.value("as")
    var left = limit
    var mark: PageMark?
    repeat {
      let page = try ledger.search(query, for: user, after: mark, limit: min(left, 50))
      for hit in page.rows {
        guard let view = try ledger.membership(of: hit.conversationId, for: user),
          let message = try ledger.message(hit.number, in: view.conversation, seenBy: view.member(user))
        else { continue }
        Terminal.out(arguments.isJSON ? json(hit, message) : line(hit, message))
      }
      left -= page.rows.count
      mark = page.next
    } while mark != nil && left > 0
    if left == limit && !arguments.isJSON { Terminal.error("no message answers to that") }
    return .success
  }

  private func line(_ hit: SearchHit, _ message: Message) -> String {
    let style = Style(arguments)
    let excerpts = hit.excerpts.map { excerpt in
      excerpt.parts.map { part in
        part.isMatch ? style.bold(Terminal.printable(part.text)) : Terminal.printable(part.text)
      }.joined()
    }
    let text = excerpts.isEmpty ? Terminal.printable(message.text ?? "") : excerpts.joined(separator: " | ")
    return
      "\(Terminal.printable(hit.conversationId)) \(hit.number)  \(Clock.timestamp(message.createdAt))  "
      + "\(Terminal.printable(message.senderId)): \(text)\n"
  }

  private func json(_ hit: SearchHit, _ message: Message) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "hit")
      writer.key("message")
      writer.object { message.write(to: &$0, isForUser: arguments.value("as") != nil) }
      writer.key("excerpts")
      writer.array { writer in for excerpt in hit.excerpts { excerpt.write(to: &writer) } }
    }
    return writer.text + "\n"
  }
}
