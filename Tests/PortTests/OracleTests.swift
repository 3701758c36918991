import Foundation
import LedgerPort
import ModelLedger
import Pipeline
import Platform
import Testing

@testable import LedgerSQLite

/// The oracle judges the rows, and the witness the answers, of each engine after each of a thousand random exchanges.
struct OracleTests {
  private static var seeds: ClosedRange<UInt64> {
    1...(ProcessInfo.processInfo.environment["SLUICE_SOAK"] == nil ? 6 : 100)
  }

  @Test func theModelKeepsWhatMustHold() throws { try watch(.model) }
  @Test func sqliteKeepsWhatMustHold() throws { try watch(.sqlite) }

  private func watch(_ engine: Engine) throws {
    for seed in Self.seeds {
      let watched = try WatchedLedger(engine, seed)
      for _ in 1...300 where watched.faults.isEmpty { try watched.step() }
      #expect(watched.faults.isEmpty, "seed \(seed), exchange \(watched.exchanges)")
      #expect(watched.outcomes["counted"] != nil && watched.outcomes["leaseLost"] != nil)
    }
  }
}

/// A ledger under random exchanges, with its judges.
private final class WatchedLedger {
  private let bench: Bench
  private let time = StillClock()
  private var draw: RandomExchange
  private var oracle = Oracle()
  private let witness = Witness()
  /// All leases so far; most are stale.
  private var leases: [Lease] = []
  private var ids: [String] = []
  private(set) var exchanges = 0

  var faults: [String] { oracle.faults + witness.faults }
  var outcomes: [String: Int] { witness.outcomes }

  init(_ engine: Engine, _ seed: UInt64) throws {
    bench = try Bench(engine, seed: seed, time: time)
    draw = RandomExchange(random: SplitMix(state: seed), records: true, expands: true)
    draw.converses = seed > 2
    if seed % 2 == 1 { draw.prefetches = [1, 1, 2, 0] } else { (draw.rarity, draw.files) = (1, 20) }
    try joined()
  }

  private func joined() throws {
    witness.joined(bench.writer.holder, at: time.now, until: .max, try bench.reader.position())
  }

  func step() throws {
    time.pass(draw.pick([0, 0, 1, 20, 300, 5000]))
    if draw.once(in: 50) {
      let isLeaving = draw.once(in: 2)
      if isLeaving {
        witness.left(bench.writer.holder)
        try bench.writer.leave()
      } else {
        witness.isLost(bench.writer.holder)
      }
      try bench.succeed()
      try joined()
    } else {
      try exchange()
    }
    oracle.judge(try bench.image())
  }

  private func exchange() throws {
    var exchange = Exchange(number: bench.number + 1)
    exchange.commands = (0..<draw.number(0...3)).map { _ in draw.command(ids) }
    if draw.once(in: 6) {
      let all = try bench.reader.deliveries(DeliveryFilter(), after: nil, limit: 1000).rows
      exchange.commands.append(draw.deliveryCommand(all))
    }
    if draw.once(in: 5) {
      exchange.deletedObjects = try bench.reader.objectsToDelete(limit: draw.number(0...3)) + ["objects/1"]
    }
    for _ in 0..<draw.number(0...4) where !leases.isEmpty {
      // Mostly a recent lease.
      let lease = draw.once(in: 6) ? draw.pick(leases) : draw.pick(leases.suffix(6))
      exchange.settlements.append(Settlement(lease, draw.ending(lease)))
    }
    exchange.wanted = draw.wants()
    guard exchange.takesNumber else { return }
    let reply = try bench.writer.exchange(exchange)
    exchanges += 1
    bench.number += 1
    witness.saw(exchange, reply, by: bench.writer.holder, until: .max)
    leases += reply.leases
    for lease in reply.leases {
      switch lease.work {
      case .attachment(let attachment): ids.append(attachment.origin.id)
      case .transfer(let transfer): draw.hosts.insert(transfer.host)
      case .delivery: break
      }
    }
  }
}

extension Bench {
  /// Its rows.
  func image() throws -> RowImage {
    if let model { return model.image() }
    let ledger = try #require(writer as? SQLiteLedger)
    return try ledger.image()
  }
}

extension SQLiteLedger {
  fileprivate func image() throws -> RowImage {
    var image = RowImage()
    try connection.prepare(
      """
      SELECT key, status, coalesce(size_bytes, 0), sha256, url, kept, parent,
        (SELECT transfer_key FROM links l WHERE l.attachment_key = key), id,
        EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = a.conversation_id AND m.message_id = a.message_id)
      FROM attachments a
      """
    ).rows { row in
      image.attachments[row.integer(0)] = .init(
        id: row.text(8), status: Status(rawValue: row.text(1)) ?? .queued, size: row.integer(2),
        sha256: row.isNull(3) ? nil : row.blob(3), url: row.optionalText(4), kept: row.optionalText(5),
        parent: row.optionalInteger(6), transfer: row.optionalInteger(7))
      image.attachments[row.integer(0)]?.hasMessage = row.integer(9) == 1
    }
    try connection.prepare("SELECT key, status = 'pending' FROM deliveries").rows {
      image.deliveries[$0.integer(0)] = $0.integer(1) == 1
    }
    try connection.prepare("SELECT key, finished_at IS NOT NULL, sha256 IS NOT NULL FROM transfers").rows {
      image.transfers[$0.integer(0)] = .init(hasEnded: $0.integer(1) == 1, isFetched: $0.integer(2) == 1)
    }
    try connection.prepare(
      "SELECT kind, subject, state, priority, holder, token, attempts, uncounted, cancelled IS NOT NULL FROM jobs"
    ).rows { row in
      guard let kind = JobKey.Kind(rawValue: row.text(0)) else { return }
      image.jobs[JobKey(kind, row.integer(1))] = .init(
        state: row.text(2), priority: row.integer(3), holder: row.optionalInteger(4),
        number: row.optionalInteger(5), attempts: row.integer(6), uncounted: row.integer(7),
        isCancelled: row.integer(8) == 1)
    }
    try connection.prepare("SELECT attachment_key, contents, bytes, open, waits FROM expansions").rows {
      image.expansions[$0.integer(0)] = .init(
        contents: $0.integer(1), bytes: $0.integer(2), open: $0.integer(3), isWaiting: $0.integer(4) == 1)
    }
    try connection.prepare("SELECT url FROM derived").rows { image.derived.append($0.text(0)) }
    try connection.prepare("SELECT path, sha256, uses FROM names").rows {
      image.names[$0.text(0)] = ($0.blob(1), $0.integer(2))
    }
    try connection.prepare("SELECT status, sum(attachments), sum(bytes) FROM counts GROUP BY status").rows {
      if let status = Status(rawValue: $0.text(0)) { image.counts[status] = ($0.integer(1), $0.integer(2)) }
    }
    try connection.prepare("SELECT id, number FROM coordinators").rows {
      image.holders[$0.integer(0)] = $0.integer(1)
    }
    try readConversations(&image)
    image.tombstones = Int(
      try connection.prepare("SELECT count(*) FROM tombstones").first { $0.integer(0) } ?? 0)
    return image
  }

  private func readConversations(_ image: inout RowImage) throws {
    image.position = try connection.prepare("SELECT position FROM ledger").first { $0.integer(0) } ?? 0
    try connection.prepare("SELECT \(Conversation.columns), pair FROM conversations c").rows {
      image.conversations[$0.integer(0)] = (Conversation($0), $0.optionalText(10))
    }
    for key in image.conversations.keys { image.members[key] = try members(of: key) }
    try connection.prepare("SELECT \(Message.columns) FROM messages m WHERE m.number IS NOT NULL").rows {
      let message = Message($0)
      image.messages[RowImage.name(message.conversationId, message.id)] = message
    }
    try connection.prepare("SELECT conversation_id, message_id, count(*) FROM versions GROUP BY 1, 2").rows {
      image.versions[RowImage.name($0.text(0), $0.text(1))] = Int($0.integer(2))
    }
    try connection.prepare("SELECT DISTINCT conversation_id, message_id FROM attachments").rows {
      image.attachmentMessages.insert(RowImage.name($0.text(0), $0.text(1)))
    }
  }
}
