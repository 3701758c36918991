import Pipeline
import Platform
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// New links for transfers whose own are not taken any more.
@Suite struct RefreshTests {
  private let desk: Desk
  private let secret = "hush-77aa"

  init() throws {
    desk = try Desk()
    desk.ledger.sealer = OpenSealer()
  }

  private static let old = "https://files.example.com/a.pdf?sig=old&se=1"

  private func item(
    message: String = "m1", url: String = old, size: Int64? = nil, priority: Int64 = 0
  ) -> IntakeItem {
    var item = IntakeItem(
      conversationId: "c", messageId: message, senderId: "ann", participants: ["ann"], fileName: "a.pdf",
      priority: priority, origin: "list:1")
    (item.url, item.size, item.expiresAt) = (url, size, "2026-01-31T08:00:00Z")
    return item
  }

  private func take(_ items: IntakeItem...) throws -> [String] {
    try desk.takeIn(items).outcomes.compactMap { if case .added(let id) = $0 { id } else { nil } }
  }

  private func transfer(_ lease: Lease) throws -> LeasedTransfer {
    guard case .transfer(let transfer) = lease.work else { throw Unexpected() }
    return transfer
  }

  private struct Unexpected: Error {}

  private func reply(_ lease: Lease, _ ending: Settlement.Ending) throws -> ExchangeReply {
    var exchange = Exchange()
    exchange.settlements = [Settlement(lease, ending)]
    return try desk.send(exchange)
  }

  private func refresh(_ id: String, _ url: String, expiresAt: Int64? = nil) throws -> CommandResult? {
    try desk.command(.refresh(RefreshCommand(id, url: url, expiresAt: expiresAt))).first
  }

  private func reason(_ result: CommandResult?) -> String {
    if case .refused(let reason)? = result { reason } else { "" }
  }

  private static let expired = Reason(stage: "downloads", code: "link-expired", message: "it answers 403")
  private static let state = TransferState(bytes: 100, total: 300, etag: "\"v1\"")

  private func check(_ lease: Lease, _ state: TransferState) throws {
    var exchange = Exchange()
    exchange.checkpoints = [TransferCheckpoint(lease, key: Desk.key(lease), state)]
    try desk.send(exchange)
  }

  /// 100 bytes come, then the link has expired, and all that waited end. Returns the files that go.
  @discardableResult
  private func expire(_ reason: Reason = expired) throws -> [Int64] {
    let lease = try #require(try desk.claim(1, lane: .downloads).first)
    try check(lease, Self.state)
    var files = try reply(lease, .notFetched(key: Desk.key(lease), reason, isRejected: false)).filesToDelete
    for lease in try desk.claim(10) {
      let ended = Desk.completed(lease) { $0.outcome = AttachmentOutcome(.failed, reason: reason) }
      files += try reply(lease, ended).filesToDelete
    }
    return files
  }

  @Test func whatCameIsGoneOnWithForAllThatShareTheLink() throws {
    let ids = try take(item(message: "m1"), item(message: "m2", priority: 7))
    #expect(try expire() == [], "what came is kept")
    #expect(try desk.ledger.transfersWithFiles() == [1])
    #expect(try desk.ledger.transfers(after: nil, limit: 9).rows.map(\.bytes) == [100])
    let new = "https://files.example.com/a.pdf?sig=\(secret)&se=2"
    #expect(try refresh(ids[0], new, expiresAt: 99) == .done(hasChanged: true))
    #expect(try desk.count(.queued) == 2)
    #expect(try desk.findings() == [])
    #expect(try refresh(ids[1], new) == .done(hasChanged: false), "it is so already")
    let lease = try #require(try desk.claim(1, lane: .downloads).first)
    let transfer = try transfer(lease)
    #expect(transfer.link.url == new && transfer.link.expiresAt == 99)
    #expect(transfer.state == Self.state)
    #expect(lease.counted == 1)
    let bytes = [UInt8](repeating: 7, count: 32)
    _ = try reply(lease, .fetched(key: transfer.key, FetchedContent(size: 300, sha256: bytes)))
    #expect(try desk.claim(10).count == 2)
    // Who has the new link joins.
    _ = try take(item(message: "m3", url: new))
    #expect(try desk.claim(10, lane: .downloads).isEmpty && desk.claim(10).count == 1)
    #expect(try desk.findings() == [])
  }

  @Test func withoutAnExpiredLinkNothingIsKept() throws {
    let ids = try take(item())
    #expect(try expire(Reason(stage: "downloads", code: "gone", message: "it answers 410")) == [1])
    #expect(try refresh(ids[0], "https://b.example/a") == .done(hasChanged: true))
    #expect(try transfer(desk.claimOne(lane: .downloads)).state == TransferState())
  }

  @Test func elsewhereOnlyWhatWasAnnouncedTellsThatItIsTheSame() throws {
    let ids = try take(item())
    try expire()
    #expect(try refresh(ids[0], "https://other.example/a") == .done(hasChanged: true))
    let plain = try desk.claimOne(lane: .downloads)
    #expect(try transfer(plain).state == TransferState())
    let announced = try take(item(message: "m2", url: "https://files.example.com/b", size: 300))
    try expire()
    #expect(try refresh(announced[0], "https://other.example/b") == .done(hasChanged: true))
    let lease = try desk.claimOne(lane: .downloads)
    #expect(try transfer(lease).state == TransferState(bytes: 100, total: 300), "an ETag is its server's own")
    #expect(try transfer(lease).link.size == 300)
    #expect(
      try desk.ledger.transfers(after: nil, limit: 9).rows.map(\.name) == [
        "https://other.example/…", "https://other.example/…",
      ])
  }

  @Test func whatIsKeptGoesWithTheLastThatHasIt() throws {
    let ids = try take(item(message: "m1"), item(message: "m2"))
    try expire()
    var exchange = Exchange()
    exchange.commands = [.delete(ids[0])]
    #expect(try desk.send(exchange).filesToDelete == [])
    exchange.commands = [.delete(ids[1])]
    #expect(try desk.send(exchange).filesToDelete == [1])
    #expect(try desk.ledger.transfersWithFiles().isEmpty)
  }

  @Test func aLinkThatAnotherTransferHasIsJoined() throws {
    let ids = try take(item(message: "m1"), item(message: "m2"))
    try expire()
    let new = "https://new.example/a"
    _ = try take(item(message: "m3", url: new))
    var exchange = Exchange()
    exchange.commands = [.refresh(RefreshCommand(ids[0], url: new))]
    let reply = try desk.send(exchange)
    #expect(reply.results == [.done(hasChanged: true)])
    #expect(reply.filesToDelete == [1], "nothing has the old one any more")
    #expect(try desk.findings() == [])
    let lease = try #require(try desk.claim(9, lane: .downloads).first)
    let bytes = [UInt8](repeating: 7, count: 32)
    _ = try self.reply(lease, .fetched(key: Desk.key(lease), FetchedContent(size: 300, sha256: bytes)))
    #expect(try desk.claim(10).count == 3)
    #expect(try desk.findings() == [])
  }

  @Test func whatBecameOfTheOldLinkSaysNothingOfTheNewOne() throws {
    let ids = try take(item())
    let lease = try desk.claimOne(lane: .downloads)
    let key = Desk.key(lease)
    try check(lease, Self.state)
    var exchange = Exchange()
    exchange.commands = [.refresh(RefreshCommand(ids[0], url: "https://files.example.com/new"))]
    #expect(try desk.send(exchange).unwanted == [key], "its coordinator stops it")
    try check(lease, TransferState(bytes: 200, total: 300, etag: "\"of the old\""))
    let end = try reply(lease, .notFetched(key: key, Self.expired, isRejected: false))
    #expect(end.settled == [.conflict])
    #expect(try desk.findings() == [])
    let next = try desk.claimOne(lane: .downloads)
    #expect(try transfer(next).link.url == "https://files.example.com/new")
    #expect(try transfer(next).state == Self.state)
    #expect(next.counted == 1 && next.cancellation == nil)
    // The new link's end counts.
    #expect(try reply(next, .notFetched(key: key, Self.expired, isRejected: false)).settled == [.counted])
    #expect(try desk.claim(1).count == 1)
  }

  @Test func whatCameWithTheOldLinkIsTaken() throws {
    let ids = try take(item())
    let lease = try desk.claimOne(lane: .downloads)
    _ = try refresh(ids[0], "https://files.example.com/new")
    let bytes = [UInt8](repeating: 7, count: 32)
    let end = try reply(lease, .fetched(key: Desk.key(lease), FetchedContent(size: 300, sha256: bytes)))
    #expect(end.settled == [.counted])
    #expect(try desk.claim(1).count == 1)
  }

  @Test func whatAPersonTookBackStaysSo() throws {
    let ids = try take(item(message: "m1"), item(message: "m2"), item(message: "m3"))
    try desk.command(.cancel(ids[1]))
    let cancelled = try desk.claimOne()
    _ = try reply(
      cancelled,
      Desk.completed(cancelled) {
        $0.outcome = AttachmentOutcome(
          .cancelled, reason: Reason(stage: "sluice", code: "cancelled", message: "ann took it back"))
      })
    try expire()
    _ = try refresh(ids[0], "https://files.example.com/new")
    #expect(try desk.count(.queued) == 2)
    #expect(try desk.count(.cancelled) == 1)
    // Unless it is named.
    #expect(try refresh(ids[1], "https://files.example.com/new") == .done(hasChanged: true))
    #expect(try desk.count(.queued) == 3)
  }

  @Test func whatNeedsNoLinkIsRefused() throws {
    let new = "https://files.example.com/?token=\(secret)"
    let file = try #require(try take(Desk.item("b.pdf")).first)
    #expect(reason(try refresh(file, new)).contains("is a file"))
    #expect(reason(try refresh("nobody", new)).contains("no attachment has the id nobody"))
    let id = try #require(try take(item()).first)
    for bad in ["ftp://a/b?\(secret)", "", "https://a b/\(secret)"] {
      let reason = reason(try refresh(id, bad))
      #expect(reason.contains("of the new link: its url ") && !reason.contains(secret), "\(bad)")
    }
    let lease = try desk.claimOne(lane: .downloads)
    let bytes = [UInt8](repeating: 7, count: 32)
    _ = try reply(lease, .fetched(key: Desk.key(lease), FetchedContent(size: 5, sha256: bytes)))
    #expect(reason(try refresh(id, new)).contains("was fetched"))
    let work = try #require(try desk.claim(9).first { Desk.id($0) == id })
    _ = try reply(work, Desk.completed(work))
    #expect(reason(try refresh(id, new)).contains("is completed"))
    try desk.command(.delete(id))
    #expect(reason(try refresh(id, new)).contains("was deleted"))
    desk.ledger.sealer = nil
    #expect(reason(try refresh(file, new)).contains("lanes: { downloads"))
  }

  @Test func oneThatIsWorkedOnIsToEndFirst() throws {
    let id = try #require(try take(item()).first)
    let lease = try desk.claimOne(lane: .downloads)
    _ = try reply(lease, .notFetched(key: Desk.key(lease), Self.expired, isRejected: false))
    _ = try desk.claimOne()
    #expect(reason(try refresh(id, "https://files.example.com/new")).contains("just being worked on"))
  }

  @Test func theNewLinkIsASecretToo() throws {
    let id = try #require(try take(item()).first)
    try expire()
    let command = RefreshCommand(id, url: "https://files.example.com/?token=\(secret)")
    #expect(try desk.command(.refresh(command)).first == .done(hasChanged: true))
    #expect(!"\(command)".contains(secret) && "\(command)".contains("https://files.example.com/…"))
    let digits = Hexadecimal.text(Array(secret.utf8))
    for row in try desk.everything() {
      #expect(!row.contains(secret) && !row.lowercased().contains(digits), "\(row)")
    }
  }

  @Test func aRowWithoutATimeIsRead() throws {
    let link = Link(url: "https://a.example/", size: 3, declaredType: "a/b", expiresAt: 77)
    #expect(Link(coded: link.coded) == link)
    // As it was written before links had a time.
    var before = link
    before.expiresAt = nil
    #expect(Link(coded: Array(before.coded.dropLast())) == before)
  }

  @Test func theTimeIsNoPartOfTheIdentity() throws {
    var other = item(message: "m2")
    other.expiresAt = nil
    _ = try take(item(message: "m1"), other)
    #expect(try desk.claim(9, lane: .downloads).count == 1)
  }

  @Test(arguments: ["yesterday", "2026-01-31", "2026-02-30T08:00:00Z", "2026-01-31T08:00:00+02:00"])
  func whatIsNoTimeIsRefused(_ time: String) throws {
    var item = item()
    item.expiresAt = time
    #expect(try desk.takeIn([item]).problems.count == 1)
  }

  @Test(arguments: [
    "https://a.example/?X-Amz-Signature=1", "https://a.example/?a=1&x-goog-signature=2#b",
    "https://a.example/b?se=1&sig=2", "https://a.example/?Expires=1&Key-Pair-Id=k&Signature=s",
    "https://a.example/?Policy=p&Key-Pair-Id=k&Signature=s", "https://a.example/?x-oss-signature=1",
    "https://a.example/?q-sign-time=1;2&q-signature=3",
    "https://a.example/?temp_url_sig=1&temp_url_expires=2",
  ])
  func aSignedLinkIsKnownByItsQuery(url: String) {
    #expect(Link(url: url).mayHaveExpired(at: 0))
  }

  @Test(arguments: [
    "https://a.example/", "https://a.example/sig=1&se=2", "https://a.example/?signal=1&se=2",
    "https://a.example/?sig=1", "https://a.example/?Expires=1", "https://a.example/?a=b#sig=1&se=2",
  ])
  func anotherLinkLastsUntilItsTime(url: String) {
    #expect(!Link(url: url).mayHaveExpired(at: 0))
    #expect(Link(url: url, expiresAt: 5).mayHaveExpired(at: 5))
    #expect(!Link(url: url, expiresAt: 5).mayHaveExpired(at: 4))
  }
}
