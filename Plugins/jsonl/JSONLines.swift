import StageKit

/// Appends each event to a file, as one line of JSON, exactly once.
///
/// `process` checks; `flush` writes all lines with one write, and syncs them before any is reported. If a
/// process is killed between that and the ledger's commit, its events are delivered again. So an event whose
/// attempt is not the first is looked up in the file before it is written.
struct JSONLines: Stage {
  static let about = About(
    id: "jsonl", version: "1.0.0", summary: "Appends events to a file as lines of JSON, each exactly once.",
    role: .channel, flushes: true,
    codes: [
      "disk-full": "The file system has no room; the lane pauses until there is some.",
      "unwritable": "The system cannot write to the file.",
      "unreadable": "The system cannot read the file.",
      "unsynced": "The system cannot say that the lines are on disk; they were taken back.",
      "malformed-event": "The event is not one line of JSON that begins with its id.",
    ])

  static let path = Option<String?>.file("path", help: "The file, relative to the home; made if missing.")
    .required()
  static let options: [any OptionDeclaration] = [path]

  private let journal: Journal
  private var waiting: [Attachment] = []

  init(_ opening: Opening) throws(Outcome) {
    guard let path = opening[Self.path], !path.isEmpty else { throw .fail("unwritable", "`path` is empty") }
    guard let home = opening.folder else { throw .fail("unwritable", "no home is granted") }
    journal = try Journal(path, in: home)
  }

  mutating func process(_ attachment: Attachment) throws(Outcome) {
    guard let event = attachment.event else { throw .fail("malformed-event", "there is no event to write") }
    guard event.body.starts(with: Journal.head(of: event.id)) else {
      throw .fail("malformed-event", "the event's JSON does not begin with its id, \(event.id)")
    }
    if event.body.contains(UInt8(ascii: "\n")) {
      throw .fail("malformed-event", "the JSON of event \(event.id) has more than one line")
    }
    waiting.append(attachment)
  }

  mutating func flush() throws(Outcome) {
    defer { waiting.removeAll(keepingCapacity: true) }
    let repeated = waiting.filter { $0.attempt > 1 }.compactMap { $0.event?.id }
    // An event passed twice in one batch, because a lease expired, is also written only once.
    var written = try journal.ids(among: Set(repeated))
    var lines: [UInt8] = []
    for event in waiting.compactMap(\.event) where written.insert(event.id).inserted {
      lines.append(contentsOf: event.body)
      lines.append(UInt8(ascii: "\n"))
    }
    if !lines.isEmpty { try journal.append(lines) }
  }
}

private let exported = Exported(JSONLines.self)

/// The plugin's one exported function.
@c(jsonl_stage)
public func jsonl_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
