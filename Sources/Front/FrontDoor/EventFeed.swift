import LedgerPort
import Pipeline
import Platform

/// What changed, as it is told to those who listen. Used by one thread.
final class EventFeed {
  /// Who is told of something.
  enum Audience: Equatable {
    /// These users, and all who operate the server.
    case users(Set<ByteText>)
    /// Those alone who operate the server, or send for users.
    case operators
    /// These users alone: the others are told it in another way.
    case usersAlone(Set<ByteText>)

    var users: Set<ByteText>? {
      switch self {
      case .users(let users), .usersAlone(let users): users
      case .operators: nil
      }
    }

    var hasOperators: Bool { if case .usersAlone = self { false } else { true } }
  }

  struct Event {
    var kind: String
    var audience: Audience
    /// As JSON: for those who operate the server, and for users.
    var full: String
    var short: String
  }

  /// Where a listener is: what came before is told.
  struct Mark: Hashable {
    var position: Position
    /// So many events of the change after the position are told, too.
    var told = 0

    /// The id of an event: what a client sends as `Last-Event-ID`.
    var text: String { told == 0 ? position.text : "\(position.text)+\(told)" }

    init(_ position: Position, told: Int = 0) { (self.position, self.told) = (position, told) }

    /// Reads what ``text`` gives; `nil`: it is none.
    init?(_ text: String) {
      let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
      guard let position = Position(String(parts[0])), let told = parts.count == 2 ? Int(parts[1]) : 0,
        told >= 0
      else { return nil }
      self.init(position, told: told)
    }
  }

  /// The events of one change of the ledger.
  struct Step {
    var events: [Event]
    var next: Position
    var hasMore: Bool
  }

  let ledger: any LedgerQueries

  init(_ ledger: any LedgerQueries) { self.ledger = ledger }

  func position() throws(LedgerError) -> Position { try ledger.position() }

  /// What the next change after a position tells; `nil`: the ledger no longer has it, or has another history.
  func step(after position: Position) throws -> Step? {
    try ledger.snapshot {
      // One change at a time: so there is a position behind each.
      guard let page = try ledger.changes(since: position, limit: 1) else { return nil }
      return Step(events: try events(page), next: page.next, hasMore: page.hasMore)
    }
  }

  private func events(_ page: ChangePage) throws -> [Event] {
    var events: [Event] = []
    var lanes: [LedgerStatus.Lane]?
    let now = Clock.now()
    for change in page.changes {
      switch change.kind {
      case .attachment:
        guard
          let record = try ledger.attachments(idPrefix: change.id).first(where: { $0.origin.id == change.id })
        else { continue }
        let users = try ledger.participants(of: record.key) + [record.origin.senderId]
        events.append(
          Event(
            kind: "attachment", audience: .users(Set(users.map(ByteText.init))),
            full: Self.json { record.write(to: &$0) },
            short: Self.json { record.write(to: &$0, isForUser: true) }))
      case .deletion:
        guard let tombstone = try ledger.tombstones(idPrefix: change.id).first else { continue }
        events.append(Self.event("deletion") { tombstone.write(to: &$0) })
      case .delivery: continue  // all of them below
      case .conversation: events += try self.events(in: change.id, at: page.next.number)
      case .lane:
        if lanes == nil { lanes = try ledger.status().lanes }
        let name = LaneName(change.id)
        if let lane = lanes?.first(where: { $0.name == name }) ?? name.map({ LedgerStatus.Lane($0) }) {
          events.append(Self.event("lane") { lane.write(to: &$0, at: now) })
          if let pause = lane.pause, let owner = pause.owner { events.append(Self.ended(pause, lane, owner)) }
        }
      }
    }
    if page.changes.contains(where: { $0.kind == .delivery }) {
      for delivery in try ledger.deliveries(changedAt: page.next) {
        events.append(Self.event("delivery") { delivery.write(to: &$0, at: now) })
      }
    }
    return events
  }

  /// What stages have said of an attachment, which is not on record yet: such events have no place in the order of changes.
  static func progress(_ attachment: LeasedAttachment, _ steps: [Pipeline.Step]) -> [Event] {
    let users = (JSONStrings.read(attachment.participants) ?? []) + [attachment.origin.senderId]
    func text(_ step: Pipeline.Step, isForUser: Bool) -> String {
      json { writer in
        writer.member("id", attachment.origin.id)
        writer.member("stage", step.stage)
        writer.member("verdict", step.verdict)
        writer.member("code", step.code)
        writer.member("message", isForUser ? step.messageForUser : step.message)
        if isForUser { return }
        writer.key("milliseconds")
        writer.value(Double(step.microseconds) / 1000)
      }
    }
    return steps.map { step in
      Event(
        kind: "progress", audience: .users(Set(users.map(ByteText.init))), full: text(step, isForUser: false),
        short: text(step, isForUser: true))
    }
  }

  /// A user's session was refused, so that a lane stands.
  private static func ended(_ pause: Pause, _ lane: LedgerStatus.Lane, _ owner: String) -> Event {
    let text = json { writer in
      writer.member("name", lane.name.description)
      writer.key("paused")
      writer.object { writer in
        writer.member("code", pause.code)
        writer.member("reason", pause.reason)
      }
    }
    return Event(kind: "lane", audience: .usersAlone([ByteText(owner)]), full: text, short: text)
  }

  static func event(_ kind: String, _ members: (inout JSONWriter) -> Void) -> Event {
    let text = json(members)
    return Event(kind: kind, audience: .operators, full: text, short: text)
  }

  static func json(_ members: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    writer.object { members(&$0) }
    return writer.text
  }
}
