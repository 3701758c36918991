import Foundation
import LedgerPort
import Pipeline
import Platform
import Testing

/// Thousands of random exchanges, done by SQLite as by the model.
struct DifferentialTests {
  private static var seeds: ClosedRange<UInt64> {
    let environment = ProcessInfo.processInfo.environment
    // One that failed.
    if let seed = environment["SLUICE_SEED"].flatMap({ UInt64($0) }) { return seed...seed }
    return 1...(environment["SLUICE_SOAK"] == nil ? 3 : 100)
  }

  @Test(arguments: Self.seeds) func sqliteDoesAsTheModel(seed: UInt64) throws {
    let pair = try Pair(seed)
    for step in 1...600 {
      try pair.step()
      guard try step % 200 > 0 || pair.agree(), pair.difference == nil else { break }
    }
    #expect(try pair.agree())
    if let difference = pair.difference {
      Issue.record("exchange \(pair.done): \(difference)")
    }
    #expect(pair.outcomes["counted"] != nil && pair.outcomes["leaseLost"] != nil, "\(pair.outcomes)")
  }
}

/// Two ledgers that are asked for the same.
private final class Pair {
  /// A lease of each.
  private typealias Twins = (model: Lease, sqlite: Lease)

  private let model: Bench
  private let sqlite: Bench
  private let time = StillClock()
  private var draw: RandomExchange
  /// Every lease that was given; most are stale.
  private var leases: [Twins] = []
  private var ids: [String] = []
  private(set) var outcomes: [String: Int] = [:]
  private(set) var done = 0
  /// What they answered differently, for the first time.
  private(set) var difference: String?

  init(_ seed: UInt64) throws {
    (model, sqlite) = (try Bench(.model, seed: seed, time: time), try Bench(.sqlite, seed: seed, time: time))
    draw = RandomExchange(random: SplitMix(state: seed), records: true, expands: true)
    draw.converses = seed % 3 == 0
    if seed % 2 == 1 { draw.prefetches = [1, 1, 1, 2, 0] }
  }

  func step() throws {
    time.pass(draw.pick([0, 0, 1, 20, 300, 5000]))
    switch draw.number(0...99) {
    case 0: try succeed(leaving: true)
    case 1: try succeed(leaving: false)
    case 2:
      let lost = (try model.writer.takeBackLost(), try sqlite.writer.takeBackLost())
      compare("\(lost.0)", "\(lost.1)")
    case 3...5: try fates()
    default: try exchange()
    }
  }

  // MARK: Steps

  private func succeed(leaving: Bool) throws {
    if leaving {
      try model.writer.leave()
      try sqlite.writer.leave()
    }
    // The clock is theirs together.
    try model.succeed()
    try sqlite.succeed()
  }

  private func fates() throws {
    for number in [model.number, model.number + 1, model.number + 2] {
      var exchange = Exchange(number: number)
      exchange.wanted = [Want(.attachments, 1)]
      compare(fate(model, exchange), fate(sqlite, exchange))
    }
  }

  private func fate(_ bench: Bench, _ exchange: Exchange) -> String {
    do throws(LedgerError) {
      return try bench.writer.fate(of: exchange).map { text($0) } ?? "not done"
    } catch {
      return "\(error.code)"
    }
  }

  private func exchange() throws {
    var exchange = Exchange(number: model.number + 1)
    if draw.once(in: 50) { exchange.number += Int64(draw.number(-2...1)) }
    exchange.commands = (0..<draw.number(0...3)).map { _ in draw.command(ids) }
    if draw.once(in: 6) {
      let all = try model.reader.deliveries(DeliveryFilter(), after: nil, limit: 1000).rows
      exchange.commands.append(draw.deliveryCommand(all))
    }
    // Most are to be deleted, and some are not.
    if draw.once(in: 5) {
      exchange.deletedObjects = try model.reader.objectsToDelete(limit: draw.number(0...3)) + ["objects/1"]
    }
    var settlements: [(Twins, Settlement.Ending)] = []
    for _ in 0..<draw.number(0...4) where !leases.isEmpty {
      // Mostly one that was given lately.
      let twins = draw.once(in: 6) ? draw.pick(leases) : draw.pick(leases.suffix(6))
      settlements.append((twins, draw.ending(twins.model)))
    }
    exchange.wanted = draw.wants()
    exchange.contents = (0..<draw.number(0...2)).map { _ in draw.question() }
    var other = exchange
    // Of those in hand, and of stale ones.
    for twins in leases.suffix(4) {
      guard case .transfer(let transfer) = twins.model.work, draw.once(in: 2) else { continue }
      let state = draw.state()
      exchange.checkpoints.append(TransferCheckpoint(twins.model, key: transfer.key, state))
      other.checkpoints.append(TransferCheckpoint(twins.sqlite, key: transfer.key, state))
    }
    exchange.settlements = settlements.map { Settlement($0.0.model, $0.1) }
    other.settlements = settlements.map { Settlement($0.0.sqlite, $0.1) }
    for _ in 0..<(draw.once(in: 30) ? 2 : 1) { try send(exchange, other) }
  }

  private func send(_ exchange: Exchange, _ other: Exchange) throws {
    let replies = (reply(model, exchange), reply(sqlite, other))
    done += 1
    guard case (.success(let first), .success(let second)) = replies else {
      return compare("\(replies.0)", "\(replies.1)")
    }
    compare(text(first), text(second))
    guard difference == nil, exchange.takesNumber else { return }
    if exchange.number > model.number {
      (model.number, sqlite.number) = (exchange.number, exchange.number)
      leases += zip(first.leases, second.leases).map { (model: $0, sqlite: $1) }
    }
    for outcome in first.settled { outcomes["\(outcome)", default: 0] += 1 }
    for lease in first.leases {
      switch lease.work {
      case .attachment(let attachment): ids.append(attachment.origin.id)
      case .transfer(let transfer): draw.hosts.insert(transfer.host)
      case .delivery: break
      }
    }
  }

  private func reply(_ bench: Bench, _ exchange: Exchange) -> Result<ExchangeReply, FailedExchange> {
    do throws(LedgerError) {
      return .success(try bench.writer.exchange(exchange))
    } catch {
      return .failure(FailedExchange(code: "\(error.code)"))
    }
  }

  private struct FailedExchange: Error {
    var code: String
  }

  // MARK: Comparing

  private func compare(_ model: String, _ sqlite: String) {
    if difference != nil || model == sqlite { return }
    let same = zip(model, sqlite).prefix { $0 == $1 }.count
    func part(_ text: String) -> String { String(text.dropFirst(max(same - 300, 0)).prefix(600)) }
    difference = "the model says\n…\(part(model))…\nand SQLite\n…\(part(sqlite))…"
  }

  /// Whether all that can be asked of them is the same.
  func agree() throws -> Bool {
    let (first, second) = (try everything(model.reader), try everything(sqlite.reader))
    for (model, sqlite) in zip(first, second) { compare(model, sqlite) }
    compare("\(first.count) lines", "\(second.count) lines")
    return difference == nil
  }
}
