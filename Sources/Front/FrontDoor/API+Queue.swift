import FrontWire
import LedgerPort
import Platform

// The queue, for those who operate it: lanes, downloads, deliveries.
extension API {
  /// What the query of a list may have, beside `limit` and `after`.
  struct ListQuery {
    var limit = 50
    var mark: PageMark?
    var values: [String: String] = [:]

    private static let mostRows = 200

    /// - Parameters:
    ///   - most: that the limit may be.
    ///   - usual: that the limit is where it is not said.
    init(_ request: FrontRequest, _ route: Route, most: Int = mostRows, usual: Int = 50) throws(Problem) {
      limit = usual
      let names = route.parameters.map(\.name)
      for pair in request.query {
        switch pair.name {
        case "limit" where names.contains("limit"):
          guard let number = Int(pair.value), (1...most).contains(number) else {
            throw API.invalid("limit", "is a number from 1 to \(most)")
          }
          limit = number
        case "after" where names.contains("after"): mark = PageMark(pair.value)
        case let name where names.contains(name): values[name] = pair.value
        default: throw Problem.noSuchParameter(pair.name, route)
        }
      }
    }

    func number(_ name: String, _ range: ClosedRange<Int64>) throws(Problem) -> Int64? {
      guard let value = values[name] else { return nil }
      guard let number = Int64(value), range.contains(number) else {
        throw API.invalid(name, "is a number, \(range.lowerBound) or more")
      }
      return number
    }

    /// The cases that a parameter names, with commas between them; `nil`: it is not there.
    func cases<Case: RawRepresentable<String> & CaseIterable>(_ name: String) throws(Problem) -> [Case]? {
      guard let value = values[name] else { return nil }
      var found: [Case] = []
      for word in value.split(separator: ",", omittingEmptySubsequences: false) {
        guard let one = Case(rawValue: String(word)) else {
          throw API.invalid(name, "is one of \(Case.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        found.append(one)
      }
      return found
    }
  }

  /// A page of rows, as an object with their name and `next`.
  static func page<Row>(
    _ name: String, _ page: Page<Row>, _ write: (Row, inout JSONWriter) -> Void
  ) -> FrontReply {
    var writer = JSONWriter()
    writer.object { writer in
      writer.key(name)
      writer.array { writer in for row in page.rows { writer.object { write(row, &$0) } } }
      writer.member("next", page.next?.text)
    }
    return json(writer.text)
  }

  /// The text of a mark is the client's.
  func marked<Row>(
    _ mark: PageMark?, _ body: () throws(LedgerError) -> Page<Row>
  ) throws -> Page<Row> {
    do throws(LedgerError) {
      return try body()
    } catch {
      if mark == nil || error.code != .other { throw error }
      throw Self.noMark
    }
  }

  static let noMark = invalid("after", "is no mark of a page; leave it out for the first")

  // MARK: Downloads and deliveries

  func transfers(_ request: FrontRequest) throws -> FrontReply {
    let query = try ListQuery(request, .transfers)
    let states: [TransferRecord.State]? = try query.cases("state")
    var page = try marked(query.mark) { () throws(LedgerError) in
      try ledger.transfers(after: query.mark, limit: query.limit)
    }
    if let states { page.rows.removeAll { !states.contains($0.state) } }
    return Self.page("transfers", page) { $0.write(to: &$1) }
  }

  func deliveries(_ request: FrontRequest) throws -> FrontReply {
    let query = try ListQuery(request, .deliveries)
    var filter = DeliveryFilter()
    if let statuses: [DeliveryStatus] = try query.cases("status") { filter.statuses = Set(statuses) }
    filter.channel = query.values["channel"]
    filter.codes = try query.values["code"].map { try Self.codes($0) }
    // Of the delivery, or of its attachment.
    filter.ids = query.values["id"].map { [$0.lowercased()] }
    let page = try marked(query.mark) { () throws(LedgerError) in
      try ledger.deliveries(filter, after: query.mark, limit: query.limit)
    }
    let now = Clock.now()
    return Self.page("deliveries", page) { $0.write(to: &$1, at: now) }
  }

  /// Queues again all that has this id: it is the same on each channel.
  func retryDelivery(_ id: String) throws -> Answer {
    var filter = DeliveryFilter()
    filter.ids = [id.lowercased()]
    let found = try ledger.deliveries(filter, after: nil, limit: 200).rows.filter { $0.id == id.lowercased() }
    if found.isEmpty { throw Problem.notFound }
    return Self.changes(found.map { .delivery(DeliveryCommand(key: $0.key, $0.id, .retry)) })
  }

  // MARK: Lanes

  /// Those that the ledger tells of, and those that are always there.
  func allLanes(_ status: LedgerStatus) -> [LedgerStatus.Lane] {
    let usual: [LaneName] = fetches ? [.attachments, .downloads] : [.attachments]
    let idle = usual.filter { name in !status.lanes.contains { $0.name == name } }
    return idle.map { LedgerStatus.Lane($0) } + status.lanes
  }

  func lanes() throws -> FrontReply {
    let now = Clock.now()
    return Self.page("lanes", Page(allLanes(try ledger.status()), next: nil)) { $0.write(to: &$1, at: now) }
  }

  func change(lane text: String, _ route: Route, _ request: FrontRequest, _ person: String) throws -> Answer {
    guard let name = LaneName(text) else {
      throw Problem(
        404, "no-such-lane", "there is no lane '\(text)'",
        remedy: "lanes are attachments, downloads, and channel:NAME of each channel")
    }
    switch route {
    case .pauseLane:
      let query = try ListQuery(request, .pauseLane)
      let reason = query.values["reason"] ?? Pause.unexplained
      if reason.utf8.count > 1000 { throw Self.invalid("reason", "has at most 1,000 bytes") }
      let pause = Pause(.person, code: "paused", reason: reason, by: person)
      return Self.changes([.lane(LaneCommand(name, .pause(pause)))])
    case .resumeLane: return Self.changes([.lane(LaneCommand(name, .resume(nil)))])
    default: return Self.changes(try emptying(name, person))
    }
  }

  /// As many as are changed with one request.
  private static let mostChanges = 1000

  /// As many rows as are changed with one request, or all.
  private static func first<Row>(_ page: (PageMark?, _ limit: Int) throws -> Page<Row>) throws -> [Row] {
    var found: [Row] = []
    var mark: PageMark?
    repeat {
      let next = try page(mark, mostChanges - found.count)
      found += next.rows
      mark = next.next
    } while mark != nil && found.count < mostChanges
    return found
  }

  /// What empties a lane. Of one with many jobs, the first of them; the answer says whether there are more.
  private func emptying(_ lane: LaneName, _ person: String) throws -> [Command] {
    if lane.kind == .channel {
      var filter = DeliveryFilter(statuses: [.pending])
      filter.channel = lane.name
      return try Self.first { try ledger.deliveries(filter, after: $0, limit: $1) }.map {
        .delivery(DeliveryCommand(key: $0.key, $0.id, .drop))
      }
    }
    var filter = AttachmentFilter(statuses: [.queued])
    filter.isWaitingForLink = lane == .downloads
    return try Self.first { try ledger.matches(filter, after: $0, limit: $1) }.map {
      .attachment(AttachmentCommand($0.id, .cancel("\(person) emptied the lane"), only: [.queued]))
    }
  }

  /// The answer says how many had anything to change, and whether there may be more.
  private static func changes(_ commands: [Command]) -> Answer {
    let isFull = commands.count >= mostChanges
    @Sendable func reply(_ changed: Int) -> Answer {
      .reply(json("{\"changed\":\(changed),\"more\":\(isFull)}"))
    }
    if commands.isEmpty { return reply(0) }
    return .commands(commands) { results in
      if commands.count == 1, case .refused(let reason)? = results.first {
        return .reply(Problem(409, "refused", reason).reply)
      }
      if results.count != commands.count { return .reply(Problem.away.reply) }
      return reply(results.count { $0 == .done(hasChanged: true) })
    }
  }
}
