import HomeFolder
import Platform
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// What is sealed gets another key: a page of rows in one transaction.
@Suite struct ResealTests {
  /// Begins each value with a version and the number of its key, as a sealed one does.
  private struct KeyedSealer: Sealer {
    struct Wrong: Error {}
    /// The newest first.
    var keys: [UInt8]
    var newIndexKey: [UInt8]?
    var indexKeyInsteadOfLost: [UInt8]?

    private func head(_ key: UInt8) -> [UInt8] { [1, key, key, key, key] }
    func seal(_ bytes: [UInt8], for place: SealedPlace) throws -> [UInt8] {
      head(keys[0]) + Array("\(place.column):".utf8) + place.row.prefix(4) + bytes.map { $0 ^ keys[0] }
    }
    func open(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8] {
      let rest = Array("\(place.column):".utf8) + place.row.prefix(4)
      guard let key = keys.first(where: { sealed.starts(with: head($0) + rest) }) else { throw Wrong() }
      return sealed.dropFirst(5 + rest.count).map { $0 ^ key }
    }
    func reseal(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8]? {
      sealed.starts(with: head(keys[0])) ? nil : try seal(open(sealed, for: place), for: place)
    }
    func hasKey(of sealed: [UInt8]) -> Bool { keys.contains { sealed.starts(with: head($0)) } }
    func blindIndex(_ bytes: [UInt8], purpose: String) throws -> [UInt8] {
      var values = HashedValues()
      values.add(purpose)
      values.add(bytes)
      return try SHA256().digest(of: values)
    }
  }

  private let desk: Desk

  init() throws {
    desk = try Desk(inFolder: ())
    let sealer = KeyedSealer(keys: [7])
    desk.ledger.sealer = sealer
    let home = try desk.ledger.sealedHome()
    try desk.ledger.keepIndexKey(try sealer.seal([9, 9], for: home.indexKeyPlace))
    let items = (1...7).map { number in
      var item = IntakeItem(
        conversationId: "c", messageId: "m\(number)", senderId: "ann", participants: ["ann"],
        fileName: "a.pdf", origin: "list:\(number)")
      item.url = "https://files.example.com/\(number)"
      return item
    }
    _ = try desk.takeIn(items)
    var exchange = Exchange()
    exchange.checkpoints = try desk.claim(3, lane: .downloads).map {
      TransferCheckpoint($0, key: Desk.key($0), TransferState(bytes: 5, total: 9, etag: "\"v\""))
    }
    try desk.send(exchange)
  }

  private static let keys = KeyedSealer(keys: [8, 7])

  @Test func eachPageIsATransactionAndIsGoneOnWith() throws {
    let identities = try desk.ledger.connection.texts("SELECT hex(identity) || hex(host) FROM transfers")
    #expect(try desk.ledger.sealedRows() == ["07070707": 8])
    var rows: Int64 = 0
    // As if it were killed after each page: it begins with the first row again.
    for round in 1...4 {
      desk.ledger.sealer = Self.keys
      var last: Int64? = 0
      for _ in 0..<round {
        guard let after = last else { break }
        let page = try reseal(after: after, limit: 2)
        (rows, last) = (rows + page.rows, page.last)
        let home = try desk.ledger.sealedHome()
        let oldest = KeyedSealer(keys: [last == nil ? 8 : 7])
        #expect(try oldest.open(home.indexKey ?? [], for: home.indexKeyPlace) == [9, 9], "it is the last")
      }
      try desk.reopen()
    }
    #expect(rows == 8, "each once")
    #expect(try desk.ledger.sealedRows() == ["08080808": 8])
    #expect(try desk.ledger.isErasing(), "what a page may keep of the old values is to go")
    #expect(try desk.ledger.eraseReplaced())
    #expect(try !desk.ledger.isErasing())
    #expect(
      try desk.ledger.connection.texts("SELECT hex(identity) || hex(host) FROM transfers") == identities)
    // All opens with the new key alone.
    desk.ledger.sealer = KeyedSealer(keys: [8])
    let leases = try desk.claim(9, lane: .downloads)
    #expect(leases.count == 7)
    var found: [String?] = []
    for lease in leases {
      guard case .transfer(let transfer) = lease.work else { continue }
      found.append(transfer.state.etag)
    }
    #expect(found == ["\"v\"", "\"v\"", "\"v\"", nil, nil, nil, nil])
    let home = try desk.ledger.sealedHome()
    #expect(try KeyedSealer(keys: [8]).open(home.indexKey ?? [], for: home.indexKeyPlace) == [9, 9])
    #expect(try desk.findings() == [])
  }

  @Test func aPageThatCannotBeOpenedLeavesAllOfItAsItIs() throws {
    let before = try desk.everything()
    desk.ledger.sealer = KeyedSealer(keys: [8, 6])
    #expect(throws: LedgerError.self) { try reseal() }
    #expect(try desk.everything() == before)
  }

  @Test func whatALostKeySealedMayBeGivenUp() throws {
    let home = try desk.ledger.sealedHome()
    var sealer = KeyedSealer(keys: [8])
    sealer.indexKeyInsteadOfLost = try sealer.seal([4, 4], for: home.indexKeyPlace)
    desk.ledger.sealer = sealer
    var page = try reseal(givesUpLost: true)
    #expect(page.rows == 1 && page.lost == 7, "the key of the indexes; the links")
    #expect(try desk.ledger.sealedRows() == ["07070707": 7, "08080808": 1])
    #expect(try sealer.open(desk.ledger.sealedHome().indexKey ?? [], for: home.indexKeyPlace) == [4, 4])
    // From then on it is the key on record.
    sealer.indexKeyInsteadOfLost = nil
    desk.ledger.sealer = sealer
    page = try reseal(givesUpLost: true)
    #expect(page.rows == 0 && page.lost == 7)
    #expect(throws: LedgerError.self, "they are not passed over unasked") { try reseal() }
  }

  private func reseal(after key: Int64 = 0, limit: Int = 500, givesUpLost: Bool = false) throws -> Resealed {
    try desk.ledger.resealRows(after: key, limit: limit, givesUpLost: givesUpLost)
  }

  @Test func whatHasTheNewestKeyIsNotWritten() throws {
    let before = try desk.everything()
    let page = try reseal()
    #expect(page == Resealed())
    #expect(try desk.everything() == before)
  }
}

extension Connection {
  fileprivate func texts(_ sql: String) throws -> [String] {
    var texts: [String] = []
    try prepare(sql).rows { texts.append($0.text(0)) }
    return texts
  }
}
