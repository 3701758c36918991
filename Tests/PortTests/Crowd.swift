import LedgerPort
import ModelLedger
import Pipeline
import Platform

/// Several coordinators of one ledger, each of which may be killed, stopped and continued, and whose exchanges get lost.
final class Crowd {
  private static let patience: Int64 = 15_000

  private struct Member {
    var writer: ModelWriter
    var number: Int64 = 0
    /// Not answered yet.
    var sent: Exchange?
    /// Nobody knows whether it was done.
    var isUnknown = false
    /// In hand, as it believes.
    var leases: [Lease] = []
    /// Until then it does nothing, and does not know it.
    var stoppedUntil: Int64 = 0
  }

  let witness = Witness()
  private(set) var exchanges = 0
  private let time = StillClock()
  private let ledger: ModelLedger
  private let reader: ModelReader
  private var draw: RandomExchange
  private var members: [Member] = []
  private var ids: [String] = []
  /// Settled long ago, or lost.
  private var stale: [Lease] = []
  private var place: Position
  private var seen: [Int64: [Change]] = [:]
  private var isCalm = false

  init(_ seed: UInt64) throws {
    let ids = SeededIds(seed, time)
    ledger = ModelLedger(patience: Self.patience, clock: { [time] in time.now }, ids: { ids.generator() })
    reader = ledger.reader()
    place = try reader.position()
    draw = RandomExchange(random: SplitMix(state: seed), files: 40, stepCounts: [1, 2])
    for _ in 0..<draw.number(2...4) { members.append(try join()) }
  }

  private func join() throws -> Member {
    let writer = try ledger.join(), holder = writer.holder
    writer.fault = { [unowned self] in fault() }
    writer.whenDone = { [unowned self] in
      witness.saw($0, $1, by: holder, until: time.now + Self.patience)
    }
    witness.joined(holder, at: time.now, until: time.now + Self.patience, try reader.position())
    return Member(writer: writer)
  }

  private func fault() -> ModelFault {
    isCalm ? .none : [0: .unavailable, 1: .lostAnswer, 2: .lostRequest][draw.number(0...30)] ?? .none
  }

  // MARK: What happens

  func step() throws {
    time.pass(draw.pick([0, 0, 10, 100, 500, 3000]))
    let index = draw.number(0...(members.count - 1))
    switch draw.number(0...199) {
    case 0:  // killed
      stale += members[index].leases
      members[index] = try join()
    case 1, 2: members[index].stoppedUntil = time.now + Int64(draw.number(1...40_000))
    case 3:
      try members[index].writer.leave()
      witness.left(members[index].writer.holder)
    case 4...9: try takeBack(members[index])
    case 10...39: try read()
    default: try act(index)
    }
  }

  private func takeBack(_ member: Member) throws {
    if member.stoppedUntil > time.now { return }
    let count = try member.writer.takeBackLost()
    witness.tookBack(at: time.now, by: member.writer.holder, count)
  }

  /// Reads the changes of one position.
  private func read() throws {
    guard let page = try reader.changes(since: place, limit: 1) else {
      return witness.expect(false, "the changes after \(place.number) are gone")
    }
    if page.next == place { return }
    witness.expect(page.next.number > place.number, "\(page.next.number) came after \(place.number)")
    // Of those in between all was deleted since.
    for number in (place.number + 1)...max(page.next.number, place.number + 1) { seen[number] = [] }
    place = page.next
    seen[place.number] = page.changes
  }

  private func act(_ index: Int) throws {
    if members[index].stoppedUntil > time.now { return }
    exchanges += 1
    let exchange = members[index].sent ?? request(index)
    members[index].sent = exchange
    let writer = members[index].writer
    do throws(LedgerError) {
      if members[index].isUnknown {
        let answer = try writer.fate(of: exchange)
        members[index].isUnknown = false
        if let answer { take(answer, exchange, index) }
      } else {
        take(try writer.exchange(exchange), exchange, index)
      }
    } catch {
      switch error.code {
      case .unavailable: break
      case .indeterminate: members[index].isUnknown = true
      default:
        witness.expect(error.code == .fenced, "\(error)")
        // It goes on with the work that it had.
        let leases = members[index].leases
        members[index] = try join()
        members[index].leases = leases
      }
    }
  }

  private func take(_ reply: ExchangeReply, _ exchange: Exchange, _ index: Int) {
    witness.answered(exchange, reply, by: members[index].writer.holder)
    members[index].sent = nil
    members[index].number = exchange.number
    func isSettled(_ lease: Lease) -> Bool {
      exchange.settlements.contains { $0.job == lease.job && $0.token == lease.token }
    }
    stale += members[index].leases.filter(isSettled)
    stale.removeFirst(max(stale.count - 50, 0))
    members[index].leases.removeAll(where: isSettled)
    members[index].leases += reply.leases
    for lease in reply.leases {
      if case .attachment(let attachment) = lease.work { ids.append(attachment.origin.id) }
    }
    ids.removeFirst(max(ids.count - 50, 0))
  }

  private func request(_ index: Int) -> Exchange {
    var exchange = Exchange(number: members[index].number + 1)
    if draw.once(in: 4) { exchange.commands = [draw.command(ids)] }
    if draw.once(in: 30), let all = try? reader.deliveries(DeliveryFilter(), after: nil, limit: 1000).rows {
      exchange.commands.append(draw.deliveryCommand(all))
    }
    if draw.once(in: 10) { exchange.deletedObjects = (try? reader.objectsToDelete(limit: 2)) ?? [] }
    let leases = members[index].leases.filter { _ in !draw.once(in: 3) }.prefix(4)
    exchange.settlements = leases.map { Settlement($0, draw.ending($0)) }
    if !stale.isEmpty && draw.once(in: 5) {
      let lease = draw.pick(stale)
      exchange.settlements.append(Settlement(lease, draw.ending(lease)))
    }
    exchange.wanted = draw.wants()
    if !exchange.takesNumber { exchange.wanted = [Want(.attachments, 1)] }
    return exchange
  }

  // MARK: The end

  /// The faults stop, and whoever lives does all that is owed.
  func finish() throws {
    isCalm = true
    for _ in 0..<400 {
      guard try isOwed() else { break }
      time.pass(1000)
      for index in members.indices {
        members[index].stoppedUntil = 0
        if members[index].sent == nil { members[index].sent = last(index) }
        try takeBack(members[index])
        try act(index)
      }
    }
    while place != (try reader.position()), witness.faults.isEmpty { try read() }
  }

  private func isOwed() throws -> Bool {
    try reader.status().lanes.contains { $0.due + $0.scheduled + $0.leased > 0 }
  }

  private func last(_ index: Int) -> Exchange {
    var exchange = Exchange(number: members[index].number + 1)
    exchange.commands = RandomExchange.lanes.flatMap { lane in
      [Command.lane(LaneCommand(lane, .resume(nil))), .lane(LaneCommand(lane, .hasten))]
    }
    exchange.settlements = members[index].leases.map { lease in
      switch lease.work {
      case .attachment: Settlement(lease, Sample.failed(lease))
      case .delivery: Settlement(lease, .delivered(key: Sample.key(lease)))
      case .transfer:
        Settlement(lease, .notFetched(key: Sample.key(lease), Sample.reason, isRejected: false))
      }
    }
    exchange.wanted = RandomExchange.lanes.map { Want($0, 10) }
    return exchange
  }

  func judge(isFinished: Bool) throws { try witness.judge(reader, isFinished: isFinished, seen) }
}
