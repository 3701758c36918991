import Pipeline
import Platform
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// Downloads in the ledger: who waits for what, and what becomes of them.
@Suite struct TransferTests {
  private let desk: Desk
  private let secret = "hush-5f1e"

  init() throws {
    desk = try Desk()
    desk.ledger.sealer = OpenSealer()
  }

  private func item(
    _ path: String = "a.pdf", message: String = "m1", priority: Int64 = 0, size: Int64? = nil
  ) -> IntakeItem {
    var item = IntakeItem(
      conversationId: "c", messageId: message, senderId: "ann", participants: ["ann", "ben"],
      fileName: "a.pdf",
      priority: priority, origin: "list:1")
    item.url = "https://files.example.com/\(path)?token=\(secret)"
    item.size = size
    return item
  }

  private func take(_ items: IntakeItem...) throws -> [String] {
    guard case .takenIn(let report)? = try desk.command(.takeIn(items)).first else { return [] }
    return report.outcomes.map { outcome in
      switch outcome {
      case .added(let id): id
      case .known(let id): "known \(id)"
      case .deleted(let id): "deleted \(id)"
      case .refused: "refused"
      }
    }
  }

  private func claim(_ lane: LaneName, _ count: Int = 10) throws -> [Lease] {
    var exchange = Exchange()
    exchange.wanted = [Want(lane, count)]
    return try desk.send(exchange).leases
  }

  private func settle(_ lease: Lease, _ ending: Settlement.Ending) throws -> ExchangeReply {
    var exchange = Exchange()
    exchange.settlements = [Settlement(lease, ending)]
    return try desk.send(exchange)
  }

  private func transfer(_ lease: Lease) throws -> LeasedTransfer {
    guard case .transfer(let transfer) = lease.work else { throw Unexpected() }
    return transfer
  }

  private struct Unexpected: Error {}

  private func source(_ lease: Lease) throws -> AttachmentSource {
    guard case .attachment(let attachment) = lease.work else { throw Unexpected() }
    return attachment.source
  }

  private func findings() throws -> [String] {
    var codes: [String] = []
    try desk.ledger.inspectRows { codes.append("\($0.code): \($0.place)") }
    return codes
  }

  @Test func anAttachmentWithALinkWaitsUntilItIsFetched() throws {
    let ids = try take(item())
    #expect(try claim(.attachments).isEmpty, "its content is not here")
    let lease = try #require(try claim(.downloads).first)
    let transfer = try transfer(lease)
    #expect(transfer.link.url == "https://files.example.com/a.pdf?token=\(secret)")
    #expect(transfer.state == TransferState())
    #expect(try findings().isEmpty)
    let reply = try settle(
      lease, .fetched(key: transfer.key, FetchedContent(size: 9, sha256: Array(repeating: 7, count: 32))))
    #expect(reply.settled == [.counted])
    let attachment = try #require(try claim(.attachments).first)
    #expect(
      try source(attachment)
        == .link(
          transfer: transfer.key, name: "https://files.example.com/…",
          .here(object: nil, sha256: Array(repeating: 7, count: 32))))
    #expect(try desk.ledger.transfersWithFiles() == [transfer.key], "it is worked on")
    #expect(try claim(.downloads).isEmpty, "it is not fetched twice")
    #expect(ids.count == 1)
    #expect(try findings().isEmpty)
  }

  @Test func whoeverAsksForTheSameLinkJoinsItsTransfer() throws {
    _ = try take(item(message: "m1"), item(message: "m2"), item(message: "m3", priority: 9))
    let leases = try claim(.downloads)
    #expect(leases.count == 1)
    let lease = try #require(leases.first)
    #expect(lease.priority == 9, "it is as urgent as the most urgent that waits")
    _ = try settle(
      lease,
      .fetched(key: try transfer(lease).key, FetchedContent(size: 9, sha256: Array(repeating: 7, count: 32))))
    #expect(try claim(.attachments).count == 3)
  }

  @Test func aLinkThatIsHereIsNotFetchedAgain() throws {
    _ = try take(item(message: "m1"))
    let lease = try #require(try claim(.downloads).first)
    _ = try settle(
      lease,
      .fetched(key: try transfer(lease).key, FetchedContent(size: 9, sha256: Array(repeating: 7, count: 32))))
    _ = try take(item(message: "m2"))
    #expect(try claim(.downloads).isEmpty)
    #expect(try claim(.attachments).count == 2)
  }

  @Test func whatIsInNoPlaceAnyMoreIsFetchedAgain() throws {
    _ = try take(item())
    let lease = try #require(try claim(.downloads).first)
    let key = try transfer(lease).key
    _ = try settle(lease, .fetched(key: key, FetchedContent(size: 9, sha256: Array(repeating: 7, count: 32))))
    let attachment = try #require(try claim(.attachments).first)
    guard case .attachment(let work) = attachment.work else { throw Unexpected() }
    _ = try settle(attachment, .fetchAgain(key: work.key, transfer: key))
    #expect(try claim(.attachments).isEmpty)
    let again = try #require(try claim(.downloads).first)
    #expect(try transfer(again).state.bytes == 0)
    #expect(try findings().isEmpty)
  }

  @Test func aCheckpointIsGoneOnWith() throws {
    _ = try take(item())
    let lease = try #require(try claim(.downloads).first)
    let key = try transfer(lease).key
    let state = TransferState(bytes: 100, total: 300, etag: "\"v1-user-7\"", modified: nil)
    var exchange = Exchange()
    exchange.checkpoints = [TransferCheckpoint(lease, key: key, state)]
    try desk.send(exchange)
    let reason = Reason(stage: "downloads", code: "interrupted", message: "it was stopped")
    _ = try settle(lease, .transferAgain(key: key, after: 0, isCounted: false, state, reason))
    let next = try #require(try claim(.downloads).first)
    #expect(try transfer(next).state == state)
    #expect(next.attempt == 2)
    #expect(next.counted == 1, "an interruption is no attempt")
  }

  @Test func aCheckpointUnderALostLeaseDoesNotCount() throws {
    _ = try take(item())
    let lease = try #require(try claim(.downloads).first)
    let key = try transfer(lease).key
    _ = try settle(lease, .released)
    var exchange = Exchange()
    exchange.checkpoints = [TransferCheckpoint(lease, key: key, TransferState(bytes: 100))]
    try desk.send(exchange)
    #expect(try transfer(try #require(try claim(.downloads).first)).state.bytes == 0)
  }

  @Test func thoseWhoWaitedEndWithTheTransfersReason() throws {
    _ = try take(item(message: "m1"), item(message: "m2"))
    let lease = try #require(try claim(.downloads).first)
    let reason = Reason(stage: "downloads", code: "gone", message: "files.example.com answers 410")
    let key = try transfer(lease).key
    let reply = try settle(lease, .notFetched(key: key, reason, isRejected: false))
    #expect(reply.filesToDelete.isEmpty, "two are still worked on")
    let leases = try claim(.attachments)
    #expect(leases.count == 2)
    for lease in leases {
      #expect(
        try source(lease)
          == .link(transfer: key, name: "https://files.example.com/…", .failed(reason, isRejected: false)))
    }
  }

  @Test func aFailedLinkThatIsAskedForAgainIsFetchedAgain() throws {
    _ = try take(item(message: "m1"))
    let lease = try #require(try claim(.downloads).first)
    let reason = Reason(stage: "downloads", code: "gone", message: "it is gone")
    _ = try settle(lease, .notFetched(key: try transfer(lease).key, reason, isRejected: false))
    _ = try take(item(message: "m2"))
    #expect(try claim(.downloads).count == 1)
    #expect(try findings().isEmpty)
  }

  @Test func whatNobodyWaitsForIsNotFetched() throws {
    let ids = try take(item())
    try desk.command(.attachment(AttachmentCommand(ids[0], .cancel("a person did"))))
    #expect(try claim(.downloads).isEmpty)
    let lease = try #require(try claim(.attachments).first)
    #expect(lease.cancellation == "a person did")
    #expect(try findings().isEmpty)
  }

  @Test func aTransferUnderWayThatNobodyWaitsForIsTold() throws {
    let ids = try take(item())
    let lease = try #require(try claim(.downloads).first)
    let key = try transfer(lease).key
    var exchange = Exchange()
    exchange.commands = [.attachment(AttachmentCommand(ids[0], .delete(by: "ann")))]
    let reply = try desk.send(exchange)
    #expect(reply.unwanted == [key])
    let reason = Reason(stage: "downloads", code: "interrupted", message: "it was stopped")
    let end = try settle(lease, .transferAgain(key: key, after: 0, isCounted: false, TransferState(), reason))
    #expect(end.filesToDelete == [key])
    #expect(try claim(.downloads).isEmpty)
    #expect(try findings().isEmpty)
  }

  /// The scheduler gives it back before it hears that nobody waits any more.
  @Test func aTransferThatIsGivenBackWhereNobodyWaitsIsNotFetched() throws {
    let ids = try take(item())
    let lease = try #require(try claim(.downloads).first)
    try desk.command(.attachment(AttachmentCommand(ids[0], .delete(by: "ann"))))
    let end = try settle(lease, .released)
    #expect(end.filesToDelete == [try transfer(lease).key])
    #expect(try claim(.downloads).isEmpty)
    #expect(try findings().isEmpty)
  }

  @Test func aRaisedPriorityLiftsTheTransfer() throws {
    let ids = try take(item(message: "m1"), item("b.pdf", message: "m2"))
    try desk.command(.attachment(AttachmentCommand(ids[1], .prioritize(50))))
    let lease = try #require(try claim(.downloads, 1).first)
    #expect(lease.priority == 50)
    #expect(try transfer(lease).link.url.contains("b.pdf"))
  }

  @Test func onlyWhatMayBeShownIsInTheFile() throws {
    _ = try take(item())
    let lease = try #require(try claim(.downloads).first)
    let state = TransferState(bytes: 1, total: 2, etag: "\"\(secret)\"")
    var exchange = Exchange()
    exchange.checkpoints = [TransferCheckpoint(lease, key: try transfer(lease).key, state)]
    try desk.send(exchange)
    var texts: [String] = []
    for table in ["attachments", "messages", "transfers", "links", "jobs", "changes"] {
      var names: [String] = []
      try desk.ledger.connection.prepare("SELECT name FROM pragma_table_info('\(table)')").rows {
        names.append($0.text(0))
      }
      for name in names {
        try desk.ledger.connection.prepare("SELECT CAST(\(name) AS TEXT) FROM \(table)").rows {
          texts.append($0.text(0))
        }
      }
    }
    #expect(texts.contains("https://files.example.com/…"))
    #expect(!texts.contains { $0.contains(secret) })
    #expect(!texts.contains { $0.contains("a.pdf?") })
  }

  @Test func aLinkThatCannotBeOpenedHoldsUpNoOther() throws {
    _ = try take(item("a.pdf", message: "m1"), item("b.pdf", message: "m2"))
    try desk.ledger.connection.execute("UPDATE transfers SET request = x'00ff' WHERE key = 1")
    let leases = try claim(.downloads)
    #expect(try leases.map { try transfer($0).key } == [2])
    let failed = try #require(try claim(.attachments).first)
    guard case .link(_, _, .failed(let reason, false)) = try source(failed) else { throw Unexpected() }
    #expect(reason.code == "unreadable")
    #expect(try findings().isEmpty)
  }

  @Test func withoutAKeyNoLinkIsTakenIn() throws {
    desk.ledger.sealer = nil
    #expect(try take(item()) == ["refused"])
  }

  @Test(arguments: [
    "ftp://files.example.com/a", "files.example.com/a", "https://", "https:///a", "http://a b/c",
    "http://h:0/",
    "http://h:99999/", "http://[::1/", "http://h\u{0A}x/", "http://user@/x", "",
  ])
  func whatIsNoLinkIsRefused(_ url: String) throws {
    var item = item()
    item.url = url
    #expect(try take(item) == ["refused"])
  }

  @Test(arguments: [
    ("https://Files.Example.com:443/a?b#c", "https://files.example.com"),
    ("http://h:8080", "http://h:8080"), ("https://u:p@h/x", "https://h"), ("HTTP://H/", "http://h"),
    ("http://[2001:DB8::1]:81/x", "http://[2001:db8::1]:81"), ("http://a@b@c/", "http://c"),
  ])
  func onlyThePlaceOfALinkIsShown(_ url: String, _ text: String) throws {
    #expect(LinkPlace(url)?.text == text)
  }
}
