import LedgerPort
import Pipeline
import Platform
import Synchronization

/// The meaning of the ledger's port in memory, for several coordinators at once: what an engine does is compared with it.
///
/// Its rows are values. A check comes before the first change of an exchange, so that none is ever half done.
package final class ModelLedger: Sendable {
  let rows: Mutex<ModelRows>
  let clock: @Sendable () -> Int64
  private let patience: Int64
  private let ids: @Sendable () -> UUIDv7Generator

  /// - Parameters:
  ///   - patience: a coordinator that did nothing for so many milliseconds may be taken for lost.
  ///   - clock: milliseconds, read once for each exchange.
  ///   - ids: makes what gives a coordinator its ids.
  package init(
    patience: Int64 = 15_000, clock: @escaping @Sendable () -> Int64,
    ids: @escaping @Sendable () -> UUIDv7Generator = { UUIDv7Generator() }
  ) {
    rows = Mutex(ModelRows(history: .random(in: 1...Int64.max)))
    (self.patience, self.clock, self.ids) = (patience, clock, ids)
  }

  /// A coordinator joins, takes back what overdue ones had in hand, and lifts what its host paused because of a fault.
  ///
  /// - Parameters:
  ///   - name: of its host.
  ///   - ids: what gives it its ids; `nil`: as the ledger has it.
  package func join(_ name: String = "host", ids: UUIDv7Generator? = nil) throws -> ModelWriter {
    let now = clock()
    let maker = ModelMaker(ids ?? self.ids(), try SHA256())
    rows.withLock { rows in
      _ = rows.transact(maker) { $0.takeBackLost(at: now, but: nil) }
      maker.holder = rows.join(name, until: now + patience, at: now)
    }
    return ModelWriter(self, holder: maker.holder, patience: patience, maker)
  }

  package func reader() -> ModelReader { ModelReader(self) }

  // MARK: For those who judge

  /// How many attempts were begun by the job of an attachment; 0: it has none.
  package func attempts(ofJobFor key: Int64) -> Int {
    rows.withLock { $0.jobs[JobKey(.attachment, key)]?.attempts ?? 0 }
  }

  /// The ids of what was deleted.
  package var deleted: Set<String> { rows.withLock { Set($0.tombstones.map(\.id)) } }

  package var jobs: [(isOfAttachment: Bool, isScheduled: Bool, isAside: Bool)] {
    rows.withLock { rows in
      rows.jobs.values.map { job in
        guard job.key.kind == .attachment else {
          return (false, job.dueAt != nil, job.isWaiting)
        }
        let transfer = rows.attachments[job.key.subject]?.transfer.flatMap {
          rows.jobs[JobKey(.transfer, $0)]
        }
        let isAside = job.isWaiting && transfer?.isWaiting == true
        return (true, job.dueAt != nil, isAside)
      }
    }
  }
}

/// What befalls an exchange on its way.
package enum ModelFault: CaseIterable, Sendable {
  case none
  /// The ledger is away: nothing is done.
  case unavailable
  /// It is done, and nobody hears of it.
  case lostAnswer
  /// It is not done, and nobody knows.
  case lostRequest
}

/// What a coordinator makes values with.
final class ModelMaker {
  var ids: UUIDv7Generator
  let hash: SHA256
  /// 0: it joins.
  var holder: Int64 = 0

  init(_ ids: UUIDv7Generator, _ hash: SHA256) {
    (self.ids, self.hash) = (ids, hash)
  }
}

package final class ModelWriter: LedgerWriter {
  package let holder: Int64
  /// Asked at the begin of each exchange.
  package var fault: () -> ModelFault = { .none }
  /// Told of each exchange that is done, whether or not its answer gets through.
  package var whenDone: (Exchange, ExchangeReply) -> Void = { _, _ in }

  private let ledger: ModelLedger
  private let patience: Int64
  private let maker: ModelMaker
  /// The last exchange that was done, with its answer.
  private var last: (number: Int64, reply: ExchangeReply)?

  init(_ ledger: ModelLedger, holder: Int64, patience: Int64, _ maker: ModelMaker) {
    (self.ledger, self.holder, self.patience, self.maker) = (ledger, holder, patience, maker)
  }

  package func exchange(_ exchange: Exchange) throws(LedgerError) -> ExchangeReply {
    switch fault() {
    case .none: return try perform(exchange)
    case .unavailable: throw LedgerError(.unavailable, "the model is away; send the same again")
    case .lostAnswer: _ = try? perform(exchange)
    case .lostRequest: break
    }
    throw LedgerError(.indeterminate, "the model's answer is lost; ask for the exchange's fate")
  }

  private func perform(_ exchange: Exchange) throws(LedgerError) -> ExchangeReply {
    let now = ledger.clock()
    guard exchange.takesNumber else {
      return ledger.rows.withLock { rows in
        var reply = ExchangeReply()
        reply.contents = exchange.contents.map { rows.known($0) }
        return reply
      }
    }
    if let last, last.number == exchange.number { return last.reply }
    let reply = try ledger.rows.withLock { rows throws(LedgerError) in
      guard rows.holders[holder]?.number == exchange.number - 1 else { throw fenced(exchange) }
      rows.holders[holder]?.number = exchange.number
      rows.holders[holder]?.until = now + patience
      let token = Token(holder: holder, number: exchange.number)
      return rows.transact(maker) { $0.perform(exchange, token, at: now) }
    }
    last = (exchange.number, reply)
    whenDone(exchange, reply)
    return reply
  }

  package func fate(of exchange: Exchange) throws(LedgerError) -> ExchangeReply? {
    guard exchange.takesNumber else { return nil }
    let number = ledger.rows.withLock { $0.holders[holder]?.number }
    if number == exchange.number - 1 { return nil }
    guard let last, number == exchange.number, last.number == number else { throw fenced(exchange) }
    return last.reply
  }

  private func fenced(_ exchange: Exchange) -> LedgerError {
    LedgerError(
      .fenced, "the model does not know coordinator \(holder) with exchange \(exchange.number); join again")
  }

  package func takeBackLost() throws(LedgerError) -> Int {
    let now = ledger.clock()
    return ledger.rows.withLock { $0.transact(maker) { $0.takeBackLost(at: now, but: holder) } }
  }

  /// Renews the right to write, and takes back what overdue coordinators had in hand.
  @discardableResult
  package func rest(isIdle: Bool) -> Bool {
    let now = ledger.clock()
    ledger.rows.withLock { rows in
      if rows.holders[holder] != nil { rows.holders[holder]?.until = now + patience }
      _ = rows.transact(maker) { $0.takeBackLost(at: now, but: holder) }
    }
    return false
  }

  package func leave() throws(LedgerError) {
    let now = ledger.clock()
    ledger.rows.withLock { $0.transact(maker) { _ = $0.remove(holder, isLost: false, at: now) } }
  }
}
