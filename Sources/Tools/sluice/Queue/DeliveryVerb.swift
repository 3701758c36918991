import LedgerPort
import Pipeline
import Platform

/// What the commands about deliveries have in common: `deliveries`, `dead-letters list|retry|drop`.
enum DeliveryVerb {
  static let options: [CommandOption] = [
    CommandOption(name: "channel", value: "NAME", help: "Only those of this channel."),
    CommandOption(
      name: "code", value: "CODE,…",
      help: "Only those whose last try failed with one of these codes; repeatable.", takesSeveral: true),
    CommandOption(name: "limit", value: "N", help: "This many at most."),
  ]
  static let changing: [CommandOption] = options + [AttachmentVerb.dryRun, .home, .format, .quiet, .noColor]

  static func filter(
    _ arguments: ParsedArguments, _ statuses: Set<DeliveryStatus>
  ) throws(CommandError) -> DeliveryFilter {
    var filter = DeliveryFilter(statuses: statuses)
    filter.channel = arguments.value("channel")
    filter.codes = try FilterOptions.codes(arguments)
    if !arguments.words.isEmpty { filter.ids = arguments.words.map { $0.lowercased() } }
    return filter
  }

  static func check(_ arguments: ParsedArguments) throws(CommandError) {
    _ = try (FilterOptions.limit(arguments), FilterOptions.codes(arguments))
    if arguments.words.contains("") {
      throw .usage("an ID is empty; give ids of deliveries or of attachments")
    }
  }

  // MARK: Listing

  static func list(_ arguments: ParsedArguments, _ filter: DeliveryFilter) throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    let style = Style(arguments)
    let now = Clock.machine.now()
    try pages(arguments, ledger, filter) { page in
      Terminal.out(page.map { arguments.isJSON ? json($0, now) : line($0, style, now) }.joined())
    }
    return .success
  }

  private static func pages(
    _ arguments: ParsedArguments, _ ledger: any LedgerQueries, _ filter: DeliveryFilter,
    _ body: ([DeliveryRecord]) throws -> Void
  ) throws {
    var left = try FilterOptions.limit(arguments) ?? .max
    var mark: PageMark?
    repeat {
      let page = try ledger.deliveries(filter, after: mark, limit: min(500, left))
      left -= page.rows.count
      if !page.rows.isEmpty { try body(page.rows) }
      mark = page.next
    } while mark != nil && left > 0
  }

  /// One line for people.
  private static func line(_ record: DeliveryRecord, _ style: Style, _ now: Int64) -> String {
    var line = "\(record.id)  \(style.word(record.status.rawValue, width: 9))  "
    line += [record.channel, record.type, "to \(record.recipient)"].map(Terminal.printable).joined(
      separator: "  ")
    line += "  of \(record.attachmentId)"
    if let nextDue = record.nextDue, nextDue > 0 {
      line +=
        "  tried \(Count.text(Int64(record.attempts), "time")), next at \(Clock.timestamp(now + nextDue))"
    }
    if let code = record.code { line += "  (\(RecordText.reason(code, record.reason)))" }
    return line + "\n"
  }

  private static func json(_ record: DeliveryRecord, _ now: Int64) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "delivery")
      record.write(to: &writer, at: now)
    }
    return writer.text + "\n"
  }

  // MARK: Changing

  /// - Parameters:
  ///   - name: the verb, for JSON.
  ///   - done: what is said of those that it changed.
  static func change(
    _ arguments: ParsedArguments, _ filter: DeliveryFilter, _ action: DeliveryCommand.Action,
    name: String, done: String
  ) throws -> ExitCode {
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    let isDryRun = arguments.flag("dry-run")
    let desk = isDryRun ? nil : try CommandDesk(home)
    var (matched, changed) = (0, 0)
    try pages(arguments, ledger, filter) { page in
      matched += page.count
      guard let desk else { return }
      let commands = page.map { Command.delivery(DeliveryCommand(key: $0.key, $0.id, action)) }
      changed += try desk.apply(commands).count { $0 == .done(hasChanged: true) }
    }
    if arguments.isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", name)
        writer.member("dryRun", isDryRun)
        writer.member("matched", Int64(matched))
        writer.member("changed", Int64(changed))
        writer.member("unchanged", Int64(isDryRun ? 0 : matched - changed))
      }
      Terminal.out(writer.text + "\n")
    } else if !arguments.flag("quiet") {
      func text(_ count: Int) -> String { Count.text(count, "delivery", "deliveries") }
      Terminal.out(isDryRun ? "\(text(matched)) would be \(done), at most\n" : "\(text(changed)) \(done)\n")
    }
    if case .retry = action, changed > 0 { desk?.tellWhatStands(arguments) }
    return .success
  }
}
