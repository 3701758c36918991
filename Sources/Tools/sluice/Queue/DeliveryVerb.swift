import Ledger
import Pipeline
import Platform

/// What the commands about deliveries have in common: `deliveries`, `dead-letters list|retry|drop`.
enum DeliveryVerb {
  static let options: [CommandOption] = [
    CommandOption(name: "channel", value: "NAME", help: "Only those of this channel."),
    CommandOption(name: "code", value: "CODE", help: "Only those whose last try failed with this code."),
    CommandOption(name: "limit", value: "N", help: "This many at most."),
  ]
  static let changing: [CommandOption] = options + [AttachmentVerb.dryRun, .home, .format, .quiet, .noColor]

  static func filter(_ arguments: ParsedArguments, _ statuses: Set<DeliveryStatus>) -> DeliveryFilter {
    var filter = DeliveryFilter(statuses: statuses)
    filter.channel = arguments.value("channel")
    filter.code = arguments.value("code")
    if !arguments.words.isEmpty { filter.ids = arguments.words.map { $0.lowercased() } }
    return filter
  }

  static func check(_ arguments: ParsedArguments) throws(CommandError) {
    _ = try FilterOptions.limit(arguments)
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
      writer.member("id", record.id)
      writer.member("attachmentId", record.attachmentId)
      writer.member("type", record.type)
      writer.member("channel", record.channel)
      writer.member("recipient", record.recipient)
      writer.member("status", record.status.rawValue)
      writer.member("code", record.code)
      writer.member("reason", record.reason)
      writer.member("finishedAt", record.finishedAt.map(Clock.timestamp))
      if record.status == .pending {
        writer.member("attempts", Int64(record.attempts))
        writer.member("nextAt", record.nextDue.map { Clock.timestamp(now + $0) })
      }
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
    return .success
  }
}

/// `sluice deliveries`: what is told to whom, and when it is tried next.
struct Deliveries: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "deliveries", abstract: "List deliveries, with the next try of each.", arguments: "[ID…]",
    discussion: """
      Those that are not delivered yet, unless --status says otherwise. An ID is a delivery's or an attachment's, and may
      be shortened. `sluice retry channel:NAME` makes due what waits for later.
      """,
    options: [
      CommandOption(
        name: "status", letter: "s", value: "STATUS,…",
        help:
          "Only these, of: \(DeliveryStatus.allCases.map(\.rawValue).joined(separator: ", ")); repeatable.",
        choices: DeliveryStatus.allCases.map(\.rawValue), takesSeveral: true)
    ] + DeliveryVerb.options + [.home, .format, .noColor],
    example: "sluice deliveries --channel webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
  }

  func run() throws -> ExitCode {
    let named = arguments.values("status").compactMap { DeliveryStatus(rawValue: $0) }
    return try DeliveryVerb.list(
      arguments, DeliveryVerb.filter(arguments, Set(named.isEmpty ? [.pending] : named)))
  }
}

/// `sluice dead-letters list`: deliveries that were given up.
struct DeadLettersList: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "dead-letters list", abstract: "List deliveries that have used up their tries.", arguments: "[ID…]",
    options: DeliveryVerb.options + [.home, .format, .noColor],
    example: "sluice dead-letters list --channel webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
  }

  func run() throws -> ExitCode {
    try DeliveryVerb.list(arguments, DeliveryVerb.filter(arguments, [.dead]))
  }
}

/// `sluice dead-letters retry`: tries them again.
struct DeadLettersRetry: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "dead-letters retry", abstract: "Try dead letters again.", arguments: "[ID…]",
    discussion: """
      Without an ID, a channel or a code, all of them. Their tries count anew; the event keeps its id, so that a receiver
      knows one that it has had. With an ID, one that was dropped comes back, too.
      """,
    options: DeliveryVerb.changing, example: "sluice dead-letters retry --channel webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
  }

  func run() throws -> ExitCode {
    try DeliveryVerb.change(
      arguments, DeliveryVerb.filter(arguments, arguments.words.isEmpty ? [.dead] : [.dead, .dropped]),
      .retry,
      name: "dead-letters retry", done: "queued again")
  }
}

/// `sluice dead-letters drop`: gives them up for good.
struct DeadLettersDrop: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "dead-letters drop", abstract: "Give dead letters up, so that nothing reminds of them.",
    arguments: "[ID…]",
    discussion: "Give ids, a channel, a code, or --all. They stay on record as dropped.",
    options: [CommandOption(name: "all", help: "All of them.")] + DeliveryVerb.changing,
    example: "sluice dead-letters drop --code gone")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
    let isLimited =
      !arguments.words.isEmpty || arguments.value("channel") != nil || arguments.value("code") != nil
    if isLimited == arguments.flag("all") {
      throw .usage("say which dead letters: ids, --channel NAME, --code CODE, or --all for every one")
    }
  }

  func run() throws -> ExitCode {
    try DeliveryVerb.change(
      arguments, DeliveryVerb.filter(arguments, [.dead]), .drop, name: "dead-letters drop", done: "dropped")
  }
}
