import LedgerPort
import Pipeline
import Platform

// Commands. Consecutive commands of one concern are loaded, decided and stored together.
extension LedgerRows {
  /// Applies commands in their order.
  package mutating func apply(_ commands: [Command], _ tally: inout ExchangeTally) throws(Failure)
    -> [CommandResult]
  {
    var results: [CommandResult] = []
    var rest = commands[...]
    /// Removes the commands of one concern from the front.
    func run<Request>(_ request: (Command) -> Request?) -> [Request] {
      let found = rest.prefix { request($0) != nil }.compactMap(request)
      rest = rest.dropFirst(found.count)
      return found
    }
    while let next = rest.first {
      switch next {
      case .lane: results += try apply(run { if case .lane(let one) = $0 { one } else { nil } }, &tally)
      case .attachment:
        results += try apply(run { if case .attachment(let one) = $0 { one } else { nil } }, &tally)
      case .delivery:
        results += try apply(run { if case .delivery(let one) = $0 { one } else { nil } }, &tally)
      case .token: results += try apply(run { if case .token(let one) = $0 { one } else { nil } }, tally)
      // Each of these commands changes the facts of the next.
      case .takeIn, .record, .refresh, .upload, .conversation, .user:
        rest = rest.dropFirst()
        results.append(try apply(next, &tally))
      }
    }
    return results
  }

  private mutating func apply(_ command: Command, _ tally: inout ExchangeTally) throws(Failure)
    -> CommandResult
  {
    switch command {
    case .takeIn(let items): return .takenIn(try takeIn(items, &tally))
    case .record(let check): return .takenIn(try record(check, &tally))
    case .refresh(let request): return try refresh(request, &tally)
    case .upload(let request): return try apply(request, &tally)
    case .conversation(let request): return .conversation(try apply(request, &tally))
    case .user(let request): return .user(try apply(request, &tally))
    case .lane, .attachment, .delivery, .token: return .done(hasChanged: false)
    }
  }

  private mutating func apply(_ requests: [LaneCommand], _ tally: inout ExchangeTally) throws(Failure)
    -> [CommandResult]
  {
    var facts: [LaneName: LaneDecision.Fact] = [:]
    for lane in LaneDecision.needs(requests) { facts[lane] = try pauses(of: lane) }
    let (results, writes) = LaneDecision.decide(requests, facts)
    for write in writes {
      let lane: LaneName
      switch write {
      case .pause(let name, let pause):
        lane = name
        try setPause(lane, pause, at: tally.now)
      case .lift(let name, let cause):
        lane = name
        try liftPause(lane, cause)
      case .hasten(let name):
        lane = name
        try hastenAll(of: lane, at: tally.time)
      }
      tally.changed.add(lane: lane)
      tally.touch(lane)
    }
    return results
  }

  package mutating func apply(_ requests: [AttachmentCommand], _ tally: inout ExchangeTally) throws(Failure)
    -> [CommandResult]
  {
    var facts: [String: AttachmentDecision.Fact] = [:]
    for id in AttachmentDecision.needs(requests) { facts[id] = try fact(ofAttachment: id, at: tally.time) }
    for request in requests {
      guard request.action == .reprocess || request.action == .retry,
        let fact = facts[request.attachmentId], !fact.isDeleted
      else { continue }
      facts[request.attachmentId]?.isCheck = try isCheck(fact.key)
      if request.action == .reprocess { facts[request.attachmentId]?.isMade = try isObjectMade(fact.key) }
    }
    let (results, writes) = AttachmentDecision.decide(requests, facts)
    for write in writes { try store(write, &tally) }
    return results
  }

  private mutating func apply(_ requests: [DeliveryCommand], _ tally: inout ExchangeTally) throws(Failure)
    -> [CommandResult]
  {
    var facts: [DeliveryDecision.Key: DeliveryDecision.Fact] = [:]
    for key in DeliveryDecision.needs(requests) { facts[key] = try fact(ofDelivery: key, at: tally.time) }
    let (results, writes) = DeliveryDecision.decide(requests, facts)
    for write in writes { try store(write, &tally) }
    for request in requests {
      let key = DeliveryDecision.Key(key: request.key, id: request.deliveryId)
      if let fact = facts[key] { tally.touch(.channel(fact.channel)) }
    }
    return results
  }

  private mutating func apply(_ requests: [TokenCommand], _ tally: ExchangeTally) throws(Failure)
    -> [CommandResult]
  {
    var facts: [String: TokenDecision.Fact] = [:]
    for id in TokenDecision.needs(requests) { facts[id] = try fact(ofToken: id) }
    for user in TokenDecision.users(requests) {
      facts.merge(try self.facts(ofTokensOf: user)) { $1 }
    }
    let (results, writes) = TokenDecision.decide(requests, facts)
    for write in writes {
      switch write {
      case .add(let hash, let name, let role, let expiresAt):
        let token = AccessToken(
          id: AccessToken.id(of: hash), name: name, role: role, createdAt: tally.now, expiresAt: expiresAt)
        try addToken(token, hash: hash)
      case .revoke(let id): try revokeToken(id, at: tally.now)
      }
    }
    return results
  }
}
