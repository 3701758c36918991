import LedgerPort
import Pipeline
import Platform
import Workbench

/// What `sluice replay` prints.
struct ReplayReport {
  /// A difference: the key, the old and the new value.
  struct Change {
    var key: String
    var before: String?
    var after: String?
    /// Of a derived object or a child, whose values end in a hash.
    var isPiece = false
  }

  /// The ids of those that would change.
  private(set) var changed: [String] = []
  /// Of these, those for which there is no room in the store.
  private(set) var inTheWay: Set<String> = []
  private var unchanged = 0
  private(set) var impossible = 0
  private let isDifferenceOnly: Bool
  private let isQuiet: Bool
  /// What would change is queued again, which is what the command is for.
  private let applies: Bool
  private let isJSON: Bool
  private let style: Style

  init(isDifferenceOnly: Bool, isQuiet: Bool, applies: Bool, isJSON: Bool, style: Style) {
    self.isDifferenceOnly = isDifferenceOnly
    self.isQuiet = isQuiet
    self.applies = applies
    self.isJSON = isJSON
    self.style = style
  }

  /// - Parameters:
  ///   - pieces: the changes of derived objects and children.
  ///   - isInTheWay: whether another content has the path where what would be stored goes.
  mutating func add(
    _ record: AttachmentRecord, _ outcome: ReplayPlayer.Outcome, pieces: [Change], isInTheWay: Bool
  ) {
    switch outcome {
    case .impossible(let why):
      impossible += 1
      Terminal.error("\(record.origin.id) \(Terminal.printable(record.origin.fileName)): \(why)")
    case .played(let result):
      let changes = Self.changes(record, result) + pieces
      if changes.isEmpty { unchanged += 1 } else { changed.append(record.origin.id) }
      if !changes.isEmpty && isInTheWay { inTheWay.insert(record.origin.id) }
      if changes.isEmpty && isDifferenceOnly || applies && isQuiet && !isJSON { return }
      Terminal.out(isJSON ? json(record, result, changes) : text(record, result, changes))
    }
  }

  func end(from stage: String) {
    if isQuiet || isJSON { return }
    var rest = impossible == 0 ? "" : "; \(impossible) could not be tried"
    if !inTheWay.isEmpty {
      rest += "; for \(inTheWay.count) of those that would change, another content has the path in the store"
    }
    Terminal.out(
      "\(Count.text(changed.count + unchanged, "attachment")) from '\(stage)' on: \(changed.count) would change, \(unchanged) would "
        + "not\(rest)\n"
    )
  }

  /// As many differences of one attachment are printed for people: as many contents may be in an archive as it likes.
  private static let most = 100

  /// The key of a difference in the content at the end, told by its hash.
  private static let contentKey = "sha256"

  /// A value for a line of text. The beginning of a hash tells two contents apart.
  private static func shown(_ value: String?, of change: Change) -> String {
    guard let value else { return "nothing" }
    if change.key == contentKey { return "\(value.prefix(16))…" }
    let text = Terminal.printable(value)
    // A child that was not read has none.
    let hasHash = change.isPiece && text.split(separator: " ").last?.utf8.count == 64
    return hasHash ? "\(text.dropLast(48))…" : text
  }

  private static func changes(_ record: AttachmentRecord, _ result: Rehearsal.Result) -> [Change] {
    var changes: [Change] = []
    func compare(_ key: String, _ before: String?, _ after: String?) {
      if before != after { changes.append(Change(key: key, before: before, after: after)) }
    }
    compare("status", record.outcome.status.rawValue, result.outcome?.rawValue ?? "tried again")
    compare(
      "reason", record.outcome.reason.map { "\($0.stage): \($0.code)" },
      result.reason.map { "\($0.stage): \($0.code)" })
    compare("mediaType", record.outcome.mediaType, result.mediaType)
    compare("url", record.outcome.url, result.outcome == .completed ? result.location : nil)
    // What would be stored. Where it would not be completed, nothing is, and the status says so.
    if record.outcome.status == .completed && result.outcome == .completed {
      compare(contentKey, record.outcome.sha256.map(Hexadecimal.text), result.sha256)
    }
    let before = (try? MetadataText.members(record.outcome.metadata)) ?? []  // what the ledger wrote is JSON
    let after = (try? MetadataText.members(JSONWriter.object(of: result.metadata))) ?? []
    for (key, value) in before where key != "original.sha256" {
      compare(key, value, after.first { $0.key == key }?.value)
    }
    for (key, value) in after where !before.contains(where: { $0.key == key }) { compare(key, nil, value) }
    return changes
  }

  private func text(_ record: AttachmentRecord, _ result: Rehearsal.Result, _ changes: [Change]) -> String {
    let outcome = style.word(result.outcome?.rawValue ?? "tried again", width: 11)
    var text = "\(outcome)  \(record.origin.id)  \(Terminal.printable(record.origin.fileName))\n"
    // If the outcome differs, later stages record nothing; one line says so.
    let endsOtherwise = changes.contains { $0.key == "status" || $0.key == "reason" }
    let gone = endsOtherwise ? changes.filter { $0.key.contains(".") && !$0.isPiece && $0.after == nil } : []
    let lost = endsOtherwise ? changes.filter { $0.isPiece && $0.after == nil } : []
    let shown = changes.filter { change in !(gone + lost).contains { $0.key == change.key } }
    var lines = shown.prefix(Self.most).map { change in
      (
        Terminal.printable(change.key),
        "\(Self.shown(change.before, of: change)) -> \(Self.shown(change.after, of: change))"
      )
    }
    if shown.count > Self.most {
      lines.append(("", "and \(shown.count - Self.most) more; --format json has all"))
    }
    if !gone.isEmpty { lines.append(("metadata", "\(Count.text(gone.count, "key")) -> nothing")) }
    if !lost.isEmpty { lines.append(("derived", "\(Count.text(lost.count, "object")) -> nothing")) }
    // A file in an archive may have a name as long as it likes.
    let width = min(lines.map(\.0.count).max() ?? 0, 40)
    for (key, value) in lines { text += "             \(Help.pad(key, width))  \(value)\n" }
    return text
  }

  private func json(_ record: AttachmentRecord, _ result: Rehearsal.Result, _ changes: [Change]) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "replay")
      writer.member("id", record.origin.id)
      writer.member("fileName", record.origin.fileName)
      writer.member("status", result.outcome?.rawValue ?? "tried-again")
      writer.member("reason", result.reason)
      writer.key("changes")
      writer.array { writer in
        for change in changes {
          writer.object { writer in
            writer.member("key", change.key)
            writer.member("before", change.before)
            writer.member("after", change.after)
          }
        }
      }
    }
    return writer.text + "\n"
  }
}
