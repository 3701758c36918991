import LedgerPort
import Pipeline
import Platform

/// What the verbs have in common that change what becomes of attachments: `retry`, `cancel`, `prioritize`, `delete`.
struct AttachmentVerb {
  /// The verb, as it is called.
  var name: String
  /// What is said of attachments that it changed: `queued again`.
  var done: String
  /// What is said where it changed nothing: `queued already`.
  var before: String
  /// Those that it can be about. Others are left out, unless they are named by their ids.
  var statuses: Set<Status>
  /// Those that it changed are to be worked on.
  var queues = false
  /// It is done where the attachment was deleted before.
  var isDoneByDeletion = false
  /// What it does to an attachment out of which nothing is taken yet, where all is meant that is taken out of that: after the command
  /// with its id. `nil`: that would be something else.
  var instead: String?

  static let dryRun = CommandOption(name: "dry-run", help: "Only say how many it would be.")
  static let options = FilterOptions.all + [dryRun, .home, .format, .quiet, .noColor]

  /// Checks the options before anything is opened.
  func check(_ arguments: ParsedArguments) throws(CommandError) {
    _ = try FilterOptions.filter(arguments)
    _ = try FilterOptions.limit(arguments)
    if arguments.words.contains("") { throw .usage("an ID is empty; `sluice list` prints them") }
    if !FilterOptions.areGiven(arguments) {
      throw .usage(
        "say which attachments: by their ids, or by options such as --status \(statuses.map(\.rawValue).sorted()[0]) "
          + "(`sluice \(name) --help` lists them; `sluice list` with the same options shows which they are)")
    }
  }

  /// Does it to those that the options and ids mean.
  func run(_ arguments: ParsedArguments, _ action: AttachmentCommand.Action) throws -> ExitCode {
    let ledger = try Environment.ledger(reading: Environment.home(arguments))
    var deleted = 0
    var filter = try FilterOptions.filter(
      arguments, in: ledger, deleted: isDoneByDeletion ? { _ in deleted += 1 } : nil)
    // An attachment that is named by its id is meant with any status: the answer says why where nothing can be done.
    if arguments.values("status").isEmpty && filter.ids == nil { filter.statuses = statuses }
    return try run(arguments, action, filter, before: deleted)
  }

  /// - Parameter before: how many were meant for which it is done already.
  func run(
    _ arguments: ParsedArguments, _ action: AttachmentCommand.Action, _ filter: AttachmentFilter,
    before: Int = 0
  ) throws -> ExitCode {
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    let selected = Selected(ledger: ledger, filter: filter, limit: try FilterOptions.limit(arguments))
    let isDryRun = arguments.flag("dry-run")
    var tally = Selected.Tally()
    var working: CommandDesk?
    // Once it is deleted, nothing says what was in it.
    var left: LeftBehind?
    if case .delete = action, let ids = filter.ids { left = try LeftBehind(ids, ledger) }
    if isDryRun {
      tally = try selected.count()
    } else {
      let desk = try CommandDesk(home)
      if case .delete = action { try desk.finishDeletions() }
      tally = try selected.apply(action, desk)
      if case .delete = action { try desk.finishDeletions() }
      if queues && tally.changed > 0 { working = desk }
    }
    (tally.matched, tally.unchanged) = (tally.matched + before, tally.unchanged + before)
    tell(tally, arguments, isDryRun: isDryRun)
    if let left, !arguments.flag("quiet"), let text = left.text(Hint(arguments), isDryRun: isDryRun) {
      Terminal.error(text)
    }
    working?.tellWhatStands(arguments)
    if tally.matched == 0, let parent = filter.parentId, !arguments.flag("quiet") {
      let hint = Hint(arguments)
      let note = try TreeNote.text(parent, ledger, hint) { id in instead.map { "\(hint(name, id)) \($0)" } }
      if let note { Terminal.error(note) }
    }
    return tally.refused.isEmpty ? .success : .incomplete
  }

  private func tell(_ tally: Selected.Tally, _ arguments: ParsedArguments, isDryRun: Bool) {
    if arguments.isJSON { return Terminal.out(json(tally, isDryRun: isDryRun)) }
    for reason in tally.refused.prefix(20) { Terminal.error(Terminal.printable(reason)) }
    if tally.refused.count > 20 { Terminal.error("and \(tally.refused.count - 20) more like that") }
    if arguments.flag("quiet") { return }
    if isDryRun {
      return Terminal.out("\(Count.text(Int64(tally.matched), "attachment")) would be \(done), at most\n")
    }
    var parts: [String] = []
    if tally.changed > 0 || tally.matched == 0 {
      parts.append("\(Count.text(Int64(tally.changed), "attachment")) \(done)")
    }
    if tally.unchanged > 0 { parts.append("\(Count.text(Int64(tally.unchanged), "attachment")) \(before)") }
    if !parts.isEmpty { Terminal.out(parts.joined(separator: "; ") + "\n") }
  }

  private func json(_ tally: Selected.Tally, isDryRun: Bool) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", name)
      writer.member("dryRun", isDryRun)
      writer.member("matched", Int64(tally.matched))
      writer.member("changed", Int64(tally.changed))
      writer.member("unchanged", Int64(tally.unchanged))
      writer.key("refused")
      writer.array { writer in for reason in tally.refused { writer.value(reason) } }
    }
    return writer.text + "\n"
  }
}
