import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// What makes an attachment this one, and a delivery the same as on another ledger.
struct IdentityTests {
  // MARK: Attachments

  private static func identity(
    host: String? = nil, path: String = "/in/a", size: Int64 = 5, modified: Int64 = 7, device: Int64? = nil,
    conversation: String = "c", message: String? = "m"
  ) throws -> [UInt8] {
    AttachmentSource.file(
      host: host, path: Array(path.utf8), size: size, modified: modified, folderDevice: device
    ).identity(conversationId: conversation, messageId: message, try SHA256())
  }

  @Test func eachPartOfAnIdentityMakesAnother() throws {
    let identities = [
      try Self.identity(), try Self.identity(host: "h"), try Self.identity(path: "/in/b"),
      try Self.identity(size: 6), try Self.identity(modified: 8), try Self.identity(conversation: "d"),
      try Self.identity(message: "n"), try Self.identity(message: nil),
      // The same bytes one after the other.
      try Self.identity(conversation: "cm", message: ""), try Self.identity(conversation: "", message: "cm"),
      try Self.identity(host: "/in", path: "/a"), try Self.identity(size: 7, modified: 5),
    ]
    #expect(Set(identities).count == identities.count)
    #expect(identities.allSatisfy { $0.count == 32 })
  }

  @Test func whatIsNoPartOfAnIdentityMakesNoOther() throws {
    #expect(try Self.identity(device: 3) == Self.identity())
    let desk = try Desk()
    try desk.takeIn(Desk.item("a", message: "m"))
    var item = Desk.item("a", message: "m", priority: 9)
    (item.fileName, item.declaredType, item.folderDevice, item.origin) = ("b", "text/plain", 4, "list:9")
    (item.text, item.participants) = ("hello", ["eve"])
    #expect(try desk.takeIn(item).known == 1)
  }

  @Test func theSameFileUnderTheSameMessageIsKnown() throws {
    let desk = try Desk()
    let changes: [(inout IntakeItem) -> Void] = [
      { _ in }, { $0.source += [0x62] }, { $0.sourceSize += 1 }, { $0.sourceModified += 1 },
      { $0.conversationId = "d" }, { $0.messageId = "n" }, { $0.messageId = nil },
    ]
    let items = changes.map { change in
      var item = Desk.item("a", message: "m")
      change(&item)
      return item
    }
    #expect(try desk.takeIn(items).added == items.count)
    let again = try desk.takeIn(items)
    #expect(again.added == 0 && again.known == items.count)
  }

  /// A message of a Maildir is read, flagged and looked at: that makes no other of it.
  @Test func aMessageOfAMaildirStaysTheSameUnderEachNameThatItGets() throws {
    func identity(_ path: String, _ change: (inout IntakeItem) -> Void = { _ in }) throws -> [UInt8] {
      var item = Desk.item("a", message: "m")
      (item.source, item.isMaildirMessage) = (Array(path.utf8), true)
      change(&item)
      return item.identity(try SHA256())
    }
    let first = try identity("/m/new/17.a")
    #expect(try identity("/m/cur/17.a:2,S") == first)
    #expect(try identity("/m/cur/17.a:2,FS") { $0.sourceModified += 1 } == first)
    #expect(try identity("/m/new/17.a") { $0.messageId = nil } == first, "it is known before it is read")
    let others = [
      first, try identity("/m/new/17.b"), try identity("/n/new/17.a"),
      try identity("/m/new/17.a:") { $0.sourceSize += 1 },
      try identity("/m/new/17.a") { $0.conversationId = "d" },
      try identity("/m/new/17.a") { $0.isMaildirMessage = false },
    ]
    #expect(Set(others).count == others.count)
  }

  @Test func aMessageOfAMaildirThatWasRenamedIsKnown() throws {
    let desk = try Desk()
    var item = Desk.item("a", message: "m")
    (item.source, item.isMaildirMessage) = (Array("/m/new/17.a".utf8), true)
    #expect(try desk.takeIn(item).added == 1)
    item.source = Array("/m/cur/17.a:2,S".utf8)
    #expect(try desk.takeIn(item).known == 1)
    #expect(try desk.ledger.known(item) != nil)
    item.source = Array("/m/a".utf8)
    #expect(try desk.takeIn(item).problems.count == 1, "by its path it is none")
  }

  /// Messages before it are taken out, and it is at another place then.
  @Test func aMessageOfAMailboxStaysTheSameWhereverItLies() throws {
    func item(
      _ file: String, _ range: Range<Int64>, _ byte: UInt8, _ change: (inout IntakeItem) -> Void = { _ in }
    ) -> IntakeItem {
      var item = Desk.item("a", message: "m")
      let sha256 = [UInt8](repeating: byte, count: 32)
      item.source = MboxPath(file: Array(file.utf8), range, sha256: sha256).path
      change(&item)
      return item
    }
    let first = item("/m/in", 5..<9, 1)
    let same = [
      item("/m/in", 6..<10, 1),
      item("/m/in", 5..<9, 1) { ($0.sourceModified, $0.messageId, $0.fileName) = (9, nil, "b") },
    ]
    let others = [
      first, item("/m/out", 5..<9, 1), item("/m/in", 5..<9, 2),
      item("/m/in", 5..<9, 1) { $0.conversationId = "d" },
    ]
    let hash = try SHA256()
    for one in same {
      #expect(one.identity(hash) == first.identity(hash))
      #expect(one.lastingPath == first.lastingPath)
    }
    #expect(Set(others.map { $0.identity(hash) }).count == others.count)
    #expect(Set(others.map(\.lastingPath)).count == 3)
    #expect(first.file == Array("/m/in".utf8))
  }

  // MARK: Deliveries

  private static func id(
    _ attachment: String = "i", _ type: String = "t", _ ordinal: Int64 = 0, _ recipient: String = "ann"
  ) throws -> String {
    DeliveryIds(attachment).id(type, ordinal, for: recipient, try SHA256())
  }

  @Test func eachPartOfADeliveryMakesAnotherId() throws {
    let ids = [
      try Self.id(), try Self.id("j"), try Self.id("i", "u"), try Self.id("i", "t", 1),
      try Self.id("i", "t", 0, "ben"), try Self.id("it", ""), try Self.id("", "it"),
    ]
    #expect(Set(ids).count == ids.count)
    #expect(try Self.id() == Self.id())
  }

  @Test func theIdIsAUUIDOfVersion8() throws {
    for recipient in 0..<50 {
      let id = Array(try Self.id("i", "t", 0, "\(recipient)"))
      #expect(id.count == 36 && id[14] == "8" && "89ab".contains(id[19]))
      #expect([8, 13, 18, 23].allSatisfy { id[$0] == "-" })
    }
  }

  @Test func theOrdinalsOfEachTypeCountByThemselves() {
    var ids = DeliveryIds("i")
    #expect(["t", "u", "t", "t", "u"].map { ids.next($0) } == [0, 0, 1, 2, 1])
  }

  private static func ledger() throws -> SQLiteLedger {
    let clock = TestClock().value
    let ids = UUIDv7Generator(clock: clock) { bytes in
      for index in bytes.indices { bytes[index] = 3 }
    }
    return try SQLiteLedger(path: ":memory:", clock: clock, ids: ids)
  }

  /// Takes a file in and ends it with these events. Returns its id, and those of its deliveries.
  private static func deliveries(
    _ ledger: SQLiteLedger, before: [OutgoingEvent] = [], _ event: OutgoingEvent
  ) throws -> (attachment: String, ids: [String]) {
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([Desk.item("a")])]
    exchange.wanted = [Want(.attachments, 1)]
    let lease = try #require(try ledger.exchange(exchange).leases.first)
    exchange = Exchange(number: 2)
    exchange.settlements = [Settlement(lease, Desk.completed(lease) { $0.events = before + [event] })]
    try #require(try ledger.exchange(exchange).settled == [.counted])
    let ids = try ledger.deliveries(of: Desk.key(lease)).filter { $0.type == event.type }.map(\.id)
    return (Desk.id(lease), ids)
  }

  @Test func theSameEventHasTheSameIdOnEveryLedger() throws {
    let (one, two) = (try Self.ledger(), try Self.ledger())
    let event = Desk.event(["ann", "ben"], channels: ["events", "hook"])
    let first = try Self.deliveries(one, event)
    let other = OutgoingEvent(type: "other", data: "{}", channels: ["hook"], recipients: ["ann"])
    let second = try Self.deliveries(two, before: [other], event)
    #expect(first.attachment == second.attachment)
    #expect(first.ids == second.ids && Set(first.ids).count == 2 && first.ids.count == 4)
    #expect(first.ids[0] == first.ids[1], "it is the same on every channel")
  }

  @Test func theIdOnRecordIsThatOfItsParts() throws {
    let (attachment, ids) = try Self.deliveries(try Self.ledger(), Desk.event(["ann", "ben"]))
    let expected = try ["ann", "ben"].map { try Self.id(attachment, "attachment.completed", 0, $0) }
    #expect(ids == expected)
  }

  @Test func aRestoredLedgerGivesTheSameIdsAgain() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"))
    let file = try desk.folder.path + "/copy.db"
    _ = try LedgerBackup(of: desk.folder, to: file).make(replacing: false)
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event()] })
    let restored = try SQLiteLedger(path: file, clock: desk.clock.value)
    var exchange = Exchange(number: 1)
    exchange.wanted = [Want(.attachments, 1)]
    let again = try #require(try restored.exchange(exchange).leases.first)
    exchange = Exchange(number: 2)
    exchange.settlements = [Settlement(again, Desk.completed(again) { $0.events = [Desk.event()] })]
    _ = try restored.exchange(exchange)
    let ids = try restored.deliveries(of: Desk.key(again)).map(\.id)
    #expect(try ids == desk.ledger.deliveries(of: Desk.key(lease)).map(\.id) && ids.count == 2)
  }
}
