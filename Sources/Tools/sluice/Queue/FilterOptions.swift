import LedgerPort
import Pipeline
import Platform

/// The options by which commands say which attachments they mean; the same for all of them.
enum FilterOptions {
  static let all: [CommandOption] = [
    CommandOption(
      name: "status", letter: "s", value: "STATUS,…",
      help: "Only these, of: \(Status.allCases.map(\.rawValue).joined(separator: ", ")); repeatable.",
      choices: Status.allCases.map(\.rawValue), takesSeveral: true),
    CommandOption(
      name: "code", value: "CODE,…",
      help: "Only those with one of these codes as their reason: too-large; repeatable.", takesSeveral: true),
    CommandOption(name: "stage", value: "STAGE", help: "Only those for which this stage gave the reason."),
    CommandOption(name: "type", value: "PATTERN", help: "Only those with a media type like this: image/*."),
    CommandOption(name: "conversation", value: "ID", help: "Only those of this conversation."),
    CommandOption(
      name: "message", value: "ID", help: "Only those of this message, in whichever conversation."),
    CommandOption(name: "sender", value: "ID", help: "Only those that this one sent."),
    CommandOption(name: "participant", value: "ID", help: "Only those that this user may read."),
    CommandOption(name: "reference", value: "TEXT", help: "Only those that their client calls so."),
    CommandOption(
      name: "parent", value: "ID", help: "Only those that were taken out of this one, at any level."),
    CommandOption(name: "min-size", value: "SIZE", help: "Only those of this size or more: 10MB."),
    CommandOption(name: "max-size", value: "SIZE", help: "Only those of this size or less."),
    CommandOption(name: "name", value: "GLOB", help: "Only those whose file has a name like this: '*.pdf'."),
    CommandOption(
      name: "since", value: "TIME",
      help: "Only those taken in since: 2h (ago), 2026-01-31, 2026-01-31T08:00:00Z."),
    CommandOption(name: "until", value: "TIME", help: "Only those taken in before; as with --since."),
    CommandOption(name: "sha256", value: "HEX", help: "Only those with this content."),
    CommandOption(name: "limit", value: "N", help: "This many at most."),
  ]

  /// Whether the user has said which attachments are meant, by an option other than `--limit` or by an id.
  static func areGiven(_ arguments: ParsedArguments) -> Bool {
    !arguments.words.isEmpty
      || all.contains { $0.name != "limit" && !arguments.values($0.name).isEmpty }
  }

  /// The most attachments that are meant; `nil`: all.
  static func limit(_ arguments: ParsedArguments) throws(CommandError) -> Int? {
    guard let text = arguments.value("limit") else { return nil }
    guard let limit = Int(text), limit > 0 else {
      throw .usage("--limit is a number of attachments, from 1, not '\(Terminal.printable(text))'")
    }
    return limit
  }

  /// What the options say, but for the ids.
  ///
  /// - Parameter now: in milliseconds since 1970.
  static func filter(_ arguments: ParsedArguments, now: Int64 = Clock.machine.now()) throws(CommandError)
    -> AttachmentFilter
  {
    for option in [
      "stage", "type", "conversation", "message", "sender", "participant", "reference", "parent", "name",
    ]
    where arguments.value(option) == "" {
      throw Self.empty(option)
    }
    var filter = AttachmentFilter()
    let statuses = arguments.values("status").compactMap { Status(rawValue: $0) }
    if !statuses.isEmpty { filter.statuses = Set(statuses) }
    filter.codes = try codes(arguments)
    filter.stage = arguments.value("stage")
    filter.mediaType = arguments.value("type").map { AttachmentFilter.glob($0.lowercased()) }
    (filter.conversationId, filter.messageId) = (arguments.value("conversation"), arguments.value("message"))
    (filter.senderId, filter.reference) = (arguments.value("sender"), arguments.value("reference"))
    filter.participant = arguments.value("participant")
    filter.parentId = arguments.value("parent")?.lowercased()
    (filter.minimumSize, filter.maximumSize) = (
      try size(arguments, "min-size"), try size(arguments, "max-size")
    )
    filter.fileName = arguments.value("name").map(AttachmentFilter.glob)
    filter.since = try time(arguments, "since", now)
    filter.until = try time(arguments, "until", now)
    if let text = arguments.value("sha256") {
      guard text.utf8.count == 64, let bytes = Hexadecimal.bytes(text.lowercased()) else {
        throw .usage("--sha256 takes 64 hexadecimal digits, as `sha256sum` prints them")
      }
      filter.sha256 = bytes
    }
    return filter
  }

  /// What the options and the ids say.
  ///
  /// - Parameters:
  ///   - ledger: where shortened ids are looked up.
  ///   - deleted: those of the ids that were deleted; `nil`: such an id is an error.
  static func filter(
    _ arguments: ParsedArguments, in ledger: any LedgerQueries, deleted: ((Tombstone) -> Void)? = nil
  ) throws -> AttachmentFilter {
    var filter = try filter(arguments)
    if let parent = filter.parentId {
      filter.parentId = try Show.only(of: ledger, parent, Hint(arguments)).origin.id
    }
    if arguments.words.isEmpty { return filter }
    var ids: Set<String> = []
    for word in arguments.words {
      if let deleted, try ledger.attachments(idPrefix: word.lowercased()).isEmpty,
        case let tombstones = try ledger.tombstones(idPrefix: word.lowercased()), tombstones.count == 1
      {
        deleted(tombstones[0])
      } else {
        ids.insert(try Show.only(of: ledger, word, Hint(arguments)).origin.id)
      }
    }
    filter.ids = ids
    return filter
  }

  // MARK: Values

  private static func empty(_ option: String) -> CommandError {
    .usage("--\(option) is empty; a variable of the shell may be, and without the option all are meant")
  }

  /// What `--code` says; `nil`: any.
  static func codes(_ arguments: ParsedArguments) throws(CommandError) -> Set<String>? {
    let lists = arguments.values("code")
    var codes: Set<String> = []
    for list in lists {
      if list.isEmpty { throw empty("code") }
      do {
        codes.formUnion(try CodeList(list).codes)
      } catch {
        switch error {
        case .empty:
          throw .usage(
            "--code has an empty element in '\(Terminal.printable(list))'; give codes with one comma between them"
          )
        case .impossible(let word):
          throw .usage(
            "--code has '\(Terminal.printable(word))', which no code is: codes are printable ASCII without spaces"
          )
        }
      }
    }
    return lists.isEmpty ? nil : codes
  }

  private static func size(_ arguments: ParsedArguments, _ option: String) throws(CommandError) -> Int64? {
    guard let text = arguments.value(option) else { return nil }
    if let size = ByteSize(text) { return size.bytes }
    throw .usage("--\(option) is a size such as 500KB or 10MB, not '\(Terminal.printable(text))'")
  }

  private static func time(
    _ arguments: ParsedArguments, _ option: String, _ now: Int64
  ) throws(CommandError) -> Int64? {
    guard let text = arguments.value(option) else { return nil }
    if let time = AttachmentFilter.time(text, now) { return time }
    throw .usage(
      "--\(option) is a time, such as 2h (ago), 2026-01-31 or 2026-01-31T08:00:00Z, not '\(Terminal.printable(text))'"
    )
  }
}
