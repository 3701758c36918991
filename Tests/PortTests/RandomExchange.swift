import LedgerPort
import Pipeline
import Platform

/// Draws what a coordinator may ask for.
struct RandomExchange {
  var random: SplitMix
  /// So many files there are.
  var files = 80
  /// Of so many messages of a conversation links are fetched by themselves.
  var prefetches = [0]
  /// Whether checks are put on record, which no coordinator has in hand.
  var records = false
  /// Hosts of transfers that were leased.
  var hosts: Set<Int64> = []
  /// Whether contents are taken out of others.
  var expands = false
  /// Whether people write to each other, also where attachments go.
  var converses = false
  /// So many messages were written.
  var lastMessage = 0
  /// One of so many attachments holds contents.
  var rarity = 3
  /// So many contents were taken out of others.
  var lastChild = 0
  /// So many steps an attempt may leave.
  var stepCounts = [0, 1, 2, 9]

  static let lanes: [LaneName] = [.attachments, Sample.events, .channel("hook"), .downloads]

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  /// True once in so many times.
  mutating func once(in times: Int) -> Bool { number(1...times) == 1 }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...(values.count - 1))] }

  // MARK: Commands

  mutating func command(_ ids: [String]) -> Command {
    if converses && once(in: 8) { return .user(userCommand()) }
    if converses && once(in: 2) { return .conversation(conversationCommand(ids)) }
    return switch number(0...9) {
    case 0...6: .takeIn((0..<number(0...4)).map { _ in item() })
    case 7 where !ids.isEmpty:
      once(in: 3) ? .refresh(refreshCommand(ids)) : .attachment(attachmentCommand(ids))
    case 8:
      once(in: 2)
        ? .token(tokenCommand())
        : records && once(in: 3) ? .record(recordedCheck()) : .upload(uploadCommand())
    default: .lane(laneCommand())
    }
  }

  private mutating func conversationCommand(_ ids: [String]) -> ConversationCommand {
    let users = ["ann", "ben", "cat"]
    let (user, other) = (pick(users), pick(users))
    // Few, so that much happens to each.
    let about = Int64(number(0...5))
    lastMessage += 1
    let action: ConversationCommand.Action =
      switch number(0...17) {
      case 0, 15:
        .begin(
          pick([.direct, .group]), name: pick([nil, nil, "Name"]), pick([.all, .joined]),
          members: (0...number(0...2)).map { _ in pick(users) })
      case 1: once(in: 2) ? .rename(pick([nil, "Name", "Other", ""])) : .expire(after: pick([nil, 5000, 9]))
      case 2: .add(other, pick([.admin, .member, nil]))
      case 3, 16: .remove(once(in: 2) ? user : other)
      case 4: .edit(about, text: pick(["x", "y", ""]))
      case 5: .delete(about)
      case 6, 7: .reach(delivered: about, read: Int64(number(0...12)))
      case 8: .mute(until: pick([nil, .some(nil), 5]), urgentBreaksMute: pick([nil, true, false]))
      default:
        .write(
          id: "message \(lastMessage)", clientId: "c\(number(1...12))",
          text: pick([nil, "text", "other"]), replyTo: pick([nil, nil, about]), isUrgent: once(in: 4),
          expiresAt: pick([nil, nil, 1, .max]), once(in: 3) ? named(ids) : NamedAttachments())
      }
    return ConversationCommand(
      pick(["c", "c", "d", "e"]), once(in: 4) ? .service("shop", for: user) : .user(user), action)
  }

  private mutating func named(_ ids: [String]) -> NamedAttachments {
    var named = NamedAttachments()
    if !ids.isEmpty { named.ids = (0..<number(0...2)).map { _ in pick(ids) } }
    if once(in: 3) { named.uploads = ["upload\(number(1...5))"] }
    if once(in: 4) {
      var item = item()
      (item.url, item.source, item.isMaildirMessage) = ("https://a.example.com/\(number(1...5))", [], false)
      named.links = [item]
    }
    return named
  }

  private mutating func recordedCheck() -> RecordedCheck {
    var item = item()
    item.url = nil
    item.source = Array("/dev/null/\(number(1...files))".utf8)
    let outcome =
      once(in: 2)
      ? AttachmentOutcome(.completed, mediaType: "text/plain", sizeBytes: 5)
      : AttachmentOutcome(.rejected, reason: Sample.reason, sizeBytes: 7)
    return RecordedCheck(item, outcome, steps: [Sample.step])
  }

  private mutating func uploadCommand() -> UploadCommand {
    let id = "upload\(number(1...5))"
    switch number(0...4) {
    case 0:
      return .begin(
        UploadRecord(
          id: id, owner: "ann", role: .user, length: pick([nil, 3]), metadata: "", createdAt: 0,
          expiresAt: 1000), atMost: pick([nil, 1, 2]))
    case 1: return .lengthen(id: id, Int64(number(-1...5)))
    case 2: return .finish(id: id, item())
    case 3: return .giveUp(id: id)
    default: return .end(id: id)
    }
  }

  private mutating func userCommand() -> UserCommand {
    let hash = [UInt8](repeating: UInt8(number(21...60)), count: 32)
    let session = NewSession(hash: hash, device: pick(["", "phone"]), expiresAt: Int64(number(1...60_000)))
    let id = AccessToken.id(of: hash)
    let action: UserCommand.Action =
      switch number(0...7) {
      case 0, 1:
        .add(
          name: pick(["Ann", "Ben B.", ""]), email: pick(["a@example.com", "B@example.com", "b"]),
          password: pick(["one", "two"]), role: pick([.user, .admin]), session: pick([nil, session]))
      case 2, 3: .signIn(password: pick(["one", "two"]), session)
      case 4: .signOut(session: pick([nil, id]))
      case 5: .prolong(session: id, until: 50_000)
      default: .change(userChange(keeping: id))
      }
    if once(in: 20) { return UserCommand("cat", .erase(byService: once(in: 2))) }
    return UserCommand(pick(["ann", "ben", "cat"]), action)
  }

  private mutating func userChange(keeping session: String) -> UserChange {
    var change = UserChange()
    (change.name, change.email) = (pick([nil, "Anna", "Ben"]), pick([nil, nil, "a@example.com"]))
    (change.password, change.isDisabled) = (pick([nil, nil, "two"]), pick([nil, true, false, false]))
    (change.ifPassword, change.adds) = (pick([nil, "one"]), pick([true, false]))
    change.keepsSession = pick([nil, session])
    return change
  }

  private mutating func tokenCommand() -> TokenCommand {
    let hash = [UInt8](repeating: UInt8(number(1...20)), count: 32)
    if once(in: 8) { return .signOut(pick(["ann", "ben", "nobody"])) }
    if once(in: 2) { return .revoke(once(in: 9) ? "none" : AccessToken.id(of: hash)) }
    return .add(
      hash: hash, name: pick(["ann", "ben"]), role: pick(AccessToken.Role.allCases),
      expiresAt: pick([nil, 7]))
  }

  private mutating func attachmentCommand(_ ids: [String]) -> AttachmentCommand {
    let actions: [AttachmentCommand.Action] = [
      .retry, .retry, .retry, .cancel("because"), .cancel("so"),
      .prioritize(pick([-1, 0, 1, 2, TransferPriority.urgent])),
      .delete(by: "ann"), .reprocess,
    ]
    return AttachmentCommand(
      once(in: 20) ? "nobody" : pick(ids), pick(actions),
      only: once(in: 5) ? [.queued, .failed] : nil)
  }

  /// A new link: mostly one that no transfer has.
  private mutating func refreshCommand(_ ids: [String]) -> RefreshCommand {
    let host = pick(["files.example.com", "files.example.com", "new.example.com"])
    let path = once(in: 2) ? number(1...5) : number(6...99)
    return RefreshCommand(
      once(in: 20) ? "nobody" : pick(ids), url: once(in: 20) ? "no link" : "https://\(host)/\(path)",
      expiresAt: pick([nil, 77]))
  }

  /// What a person does to a delivery: mostly to one that is there.
  mutating func deliveryCommand(_ deliveries: [DeliveryRecord]) -> Command {
    guard !deliveries.isEmpty, !once(in: 20) else {
      return .delivery(DeliveryCommand(key: 7, "nobody", .drop))
    }
    let one = pick(deliveries)
    return .delivery(DeliveryCommand(key: one.key, one.id, once(in: 2) ? .drop : .retry))
  }

  mutating func item() -> IntakeItem {
    var item = Sample.item(
      "\(number(1...files))." + pick(["pdf", "txt"]), message: pick([nil, "m", "n"]),
      sender: once(in: 15) ? "ben" : "ann", priority: Int64(number(-1...1)))
    item.declaredType = pick([nil, nil, "text/plain"])
    item.reference = pick([nil, "ref 1"])
    item.isOfUser = once(in: 3)
    if converses && once(in: 3) {
      (item.conversationId, item.messageId, item.participants) = ("default", nil, [item.senderId])
    }
    if once(in: 8) {
      (item.participants, item.checksParticipants) = (pick([["ann"], ["ben", "ann"]]), true)
    }
    if once(in: 3) {
      item.fileName = "link \(number(1...5))"
      item.source = []
      if once(in: 2) { item.linkScope = pick(["ann", "ben", "cat"]) }
      item.url = "https://\(pick(["a", "b", "c"])).example.com/\(item.fileName.suffix(1))"
      item.size = pick([nil, nil, 3])
      item.credential = pick([nil, nil, "files"])
      item.expiresAt = pick([nil, "2026-01-31T08:00:00Z"])
    }
    if item.url == nil && once(in: 5) {
      item.isMaildirMessage = true
      let unique = number(1...9)
      item.fileName = "\(unique).eml"
      item.source = Array("/m/\(pick(["new", "cur"]))/\(unique)\(pick(["", ":2,S"]))".utf8)
      item.sourceModified = pick([7, 8])
    }
    switch number(0...80) {
    case 0: item.source = [1]
    case 1: item.conversationId = ""
    case 2: item.participants = ["a\0"]
    default: break
    }
    return item
  }

  mutating func laneCommand() -> LaneCommand {
    let lane = once(in: 15) ? LaneName.channel("never") : pick(Self.lanes)
    switch number(0...10) {
    case 0: return LaneCommand(lane, .pause(Sample.person))
    case 1: return LaneCommand(lane, .pause(Sample.disk))
    case 10: return LaneCommand(lane, .pause(Sample.hand))
    case 2...5: return LaneCommand(lane, .resume(pick([nil, .person, .fault, .hand])))
    default: return LaneCommand(lane, .hasten)
    }
  }

  mutating func wants() -> [Want] {
    Self.lanes.shuffled(using: &random).prefix(number(0...3)).map {
      Want(
        $0, number(0...4), countsWaiting: number(0...3), hosts: $0 == .downloads ? shares() : HostShares(),
        prefetch: $0 == .downloads ? pick(prefetches) : 0,
        newcomers: $0 == .downloads ? pick([0, 0, 1, 2]) : 0, inHand: once(in: 2) ? [:] : nil)
    }
  }

  private mutating func shares() -> HostShares {
    var shares = HostShares(pick([0, 1, 2]))
    if once(in: 3) { shares.answering = Set(hosts.sorted().filter { _ in once(in: 2) }) }
    if once(in: 3) { shares.resting = Set(hosts.sorted().filter { _ in once(in: 3) }) }
    if once(in: 3) {
      shares.crawling = Set(hosts.sorted().filter { _ in once(in: 2) })
      shares.reserved = number(0...3)
    }
    return shares
  }

  // MARK: Endings

  /// An ending that fits a lease.
  mutating func ending(_ lease: Lease) -> Settlement.Ending {
    let (key, after) = (Sample.key(lease), pick([0, 0, 1, 50, 4000, .max] as [Int64]))
    switch (lease.work, number(0...9)) {
    case (_, 0): return .released
    case (.transfer, 1...3):
      return .transferAgain(key: key, after: after, isCounted: once(in: 2), state(), Sample.reason)
    case (.transfer, 4): return .transferRestarts(key: key, Sample.reason)
    case (.transfer, 5):
      return .notFetched(
        key: key, pick([Sample.reason, Sample.expired, Sample.expired]), isRejected: once(in: 2))
    case (.transfer, _):
      return .fetched(
        key: key,
        FetchedContent(
          size: Int64(number(3...4)), sha256: Sample.content(UInt8(number(1...6))),
          fileName: [nil, "named by the server.pdf"][number(0...1)],
          contentType: [nil, "application/pdf"][number(0...1)]))
    case (.delivery, 1...2): return .deliveryAgain(key: key, after: after, reason: Sample.reason)
    case (.delivery, 3): return .deadLetter(key: key, reason: Sample.reason)
    case (.delivery, _): return .delivered(key: key)
    case (.attachment, 1...2):
      return Sample.again(lease, after: after, crashed: once(in: 3), steps: steps())
    case (.attachment, 3):
      return .putOff(key: key, after: after, attempt: lease.attempt, steps: steps())
    case (.attachment(let attachment), 4) where attachment.source.transfer != nil:
      return .fetchAgain(key: key, transfer: attachment.source.transfer ?? 0)
    case (.attachment(let attachment), _):
      var ended = ended(attachment, lease)
      // A person has taken it back, which is told with the lease.
      if lease.cancellation != nil {
        ended.outcome = AttachmentOutcome(.cancelled, reason: Sample.reason)
        ended.children = []
      }
      let isFirst = attachment.concluded == nil && ended.outcome.status == .completed
      return expands && isFirst && once(in: rarity) ? .expanded(ended) : .attachment(ended)
    }
  }

  /// Objects beside one: equal contents have one path.
  private mutating func derived() -> [DerivedObject] {
    if !once(in: 3) { return [] }
    return ["a", "b", "c"].prefix(number(1...3)).map { name in
      let content = UInt8(number(1...4))
      return DerivedObject(
        name: name, stage: "s", mediaType: "c/d", sizeBytes: 3, sha256: Sample.content(content),
        url: "derived/\(content)")
    }
  }

  /// Contents that were taken out of one, a few of them again and again.
  private mutating func children() -> [NewChild] {
    if !expands || !once(in: rarity) { return [] }
    return (0..<number(1...3)).map { place in
      lastChild += 1
      return NewChild(
        uploadId: "child\(lastChild)", source: Array("/uploads/child\(lastChild)".utf8),
        sizeBytes: Int64(3 + place % 2),
        sha256: Sample.content(UInt8(number(1...3))), modified: 5, fileName: "child \(number(0...1))",
        declaredType: nil)
    }
  }

  /// How far a transfer is.
  mutating func state() -> TransferState {
    let bytes = Int64(number(0...5))
    return TransferState(
      bytes: bytes, total: pick([nil, bytes, bytes + 3]), etag: pick([nil, "\"e\""]),
      modified: pick([nil, "yesterday"]))
  }

  mutating func steps() -> [Step] {
    (0..<pick(stepCounts)).map {
      Step(
        stage: "s\($0)", verdict: "pass", code: pick([nil, "c"]), message: pick([nil, "m"]),
        microseconds: Int64($0))
    }
  }

  private mutating func ended(_ attachment: LeasedAttachment, _ lease: Lease) -> EndedAttachment {
    let status = pick([Status.completed, .completed, .rejected, .failed, .quarantined])
    let content = UInt8(number(1...6))
    var outcome = AttachmentOutcome(
      status, reason: status == .completed ? nil : Sample.reason, mediaType: pick([nil, "a/b", "c/d"]),
      sizeBytes: pick([nil, 3, 3, 4, .max]), metadata: pick(["{}", #"{"k":1,"original.sha256":"0a"}"#]))
    if !once(in: 4) { outcome.sha256 = Sample.content(content) }
    if outcome.sha256 != nil && !once(in: 4) {
      // Mostly a path that only this content takes.
      outcome.url = once(in: 4) ? "shared" : "objects/\(content)"
    }
    if status == .completed { outcome.derived = derived() }
    var ended = EndedAttachment(
      attachment, outcome, attempt: lease.attempt, steps: steps(),
      events: (0..<number(0...2)).map { _ in
        OutgoingEvent(
          type: pick(["x", "y", "z"]), data: "{}", channels: pick([["events"], ["events", "hook"], []]),
          recipients: Array(["ann", "ben", "cat"].shuffled(using: &random).prefix(number(0...3))))
      }, priority: lease.priority, fingerprint: pick([nil, "line 1", "line 2"]))
    ended.texts = outcome.derived.map {
      ContentText(sha256: $0.sha256, "found in \($0.sha256[0]) there".utf8)
    }
    ended.stagedDerived = Set(outcome.derived.map(\.name).filter { _ in !once(in: 5) })
    if status == .completed && attachment.concluded == nil { ended.children = children() }
    ended.limits.depth = pick([1, 2, 3, 3])
    ended.limits.contents = pick([2, 5, 1000])
    return ended
  }

  mutating func question() -> ContentQuestion {
    Sample.question(
      UInt8(number(1...7)), pick([3, 4]), pick([nil, "line 1", "line 2"]),
      name: pick(["a.pdf", "a.txt", "a"]),
      declaredType: pick([nil, "text/plain"]))
  }
}
