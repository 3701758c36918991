import LedgerPort
import Pipeline

/// Decides which due transfers are leased.
///
/// What is urgent goes first, then what services want before others. After that senders have their turns: each gets one before
/// any gets its second, however many it has. Of a sender the higher priority goes first, and then the hosts have their turns
/// likewise, so that one that does not answer keeps no other waiting. Those that crawl come last.
package struct TransferClaim {
  /// Stands for all who are no users: services, and what was handed in on the server itself.
  package static let services: Int64 = 0

  private enum Visit { case took, looksOn, hasNone }

  /// A sender's way through what it has.
  private struct Way {
    var level: Int64?
    var hosts: Turn
    /// The last job that was looked at, by host.
    var jobs: [Int64: Int64] = [:]
    /// It has looked at enough, and found nothing.
    var isTired = false
  }

  /// A claim takes no longer where there are many: so many looks are in vain, at most; and of one visit to a sender.
  private static let (looks, looksOfVisit) = (64, 16)

  /// Leases for all, and for those who have none.
  private var (left, newcomers): (Int, Int)
  private let hosts: HostShares
  private var (ofHost, ofSender): ([Int64: Int], [Int64: Int]) = ([:], [:])
  /// Of hosts that have not answered lately; how many there may be, and whether there were more.
  private var ofUnknown = 0
  private var mostUnknown: Int
  private var hasLeftUnknown = false
  /// Whether hosts that crawl get nothing, and whether they could have had something.
  private var skipsCrawling = true
  private var hasSkippedCrawling = false
  /// Hosts that have answered lately, in order, once they are asked for.
  private var known: [Int64] = []
  private var looks = Self.looks
  private var chosen: [Int64] = []
  private var taken: Set<Int64> = []
  private var ways: [Int64: Way] = [:]
  private var lastTaker: Int64?

  package init(_ want: Want) {
    (left, newcomers, hosts, mostUnknown) = (want.count, want.newcomers, want.hosts, want.hosts.unknown)
  }

  /// One is in hand already.
  package mutating func hasInHand(host: Int64, sender: Int64) {
    ofHost[host, default: 0] += 1
    ofSender[sender, default: 0] += 1
    if !hosts.known.contains(host) { ofUnknown += 1 }
  }

  /// Chooses jobs, in the order in which they are to begin.
  package mutating func choose(
    from queue: inout some TransferQueue, _ turns: inout TransferTurns
  ) throws -> [Int64] {
    try chooseOnce(from: &queue, &turns)
    // Those that have answered, and do not crawl, have no more waiting: the others may have all connections, and no place before
    // those.
    if left > hosts.reserved, hasLeftUnknown || hasSkippedCrawling {
      left -= hosts.reserved
      if hosts.unknown < .max { mostUnknown = hosts.unknown * 2 }
      (skipsCrawling, looks, ways) = (false, Self.looks, [:])
      try chooseOnce(from: &queue, &turns)
    }
    return chosen
  }

  private mutating func chooseOnce(
    from queue: inout some TransferQueue, _ turns: inout TransferTurns
  ) throws {
    for due in try queue.urgent(Self.looks) where hasRoom(for: due.sender, due.priority) {
      if mayHave(due.host, due.priority) { take(due.job, due.host, due.sender) }
    }
    while left > 0, try visit(Self.services, downTo: 1, &queue, turns) == .took {}
    var senders = Turn(after: turns.sender)
    var (visited, remaining): ([Int64], [Int64]) = ([], [])
    lastTaker = nil
    while left + newcomers > 0, looks > 0, let sender = try senders.next({ try queue.sender(after: $0) }) {
      visited.append(sender)
      if try visit(sender, downTo: 0, &queue, turns) != .hasNone { remaining.append(sender) }
    }
    // Where it has looked at enough, the next claim looks at others.
    let last = looks > 0 ? nil : visited.last
    try goRound(remaining, downTo: 0, &queue, turns)
    try goRound(visited, downTo: .min, &queue, turns)
    turns.sender = last ?? lastTaker ?? turns.sender
    turns.keep(
      ways.mapValues { way in
        way.isTired ? .init(level: way.level, hosts: way.hosts) : .init(hosts: Turn(after: way.hosts.last))
      })
  }

  /// Gives senders one each, until they have none or there is no room.
  private mutating func goRound(
    _ senders: [Int64], downTo floor: Int64, _ queue: inout some TransferQueue, _ turns: TransferTurns
  ) throws {
    var senders = senders
    while left + newcomers > 0, looks > 0, !senders.isEmpty {
      var remaining: [Int64] = []
      for sender in senders where left + newcomers > 0 && looks > 0 {
        if try visit(sender, downTo: floor, &queue, turns) != .hasNone { remaining.append(sender) }
      }
      senders = remaining
    }
  }

  /// Takes the next of a sender's, of the priorities from one on.
  private mutating func visit(
    _ sender: Int64, downTo floor: Int64, _ queue: inout some TransferQueue, _ turns: TransferTurns
  ) throws -> Visit {
    guard hasRoom(for: sender, floor) else {
      looks -= 1
      return .hasNone
    }
    var way = try ways[sender] ?? begin(sender, &queue, turns[sender])
    defer { ways[sender] = way }
    way.isTired = false
    var looksLeft = Self.looksOfVisit
    while let level = way.level, level >= floor {
      let jobs = way.jobs
      while let host = try way.hosts.next({ try host(after: $0, of: sender, level, jobs, &queue) }) {
        if mayHave(host, level) {
          while let job = try queue.job(after: way.jobs[host], of: sender, level, host) {
            way.jobs[host] = job
            if taken.contains(job) { continue }
            if left > 0 { lastTaker = sender }
            take(job, host, sender)
            way.hosts.beginAnew()
            return .took
          }
        }
        (looks, looksLeft) = (looks - 1, looksLeft - 1)
        if looks <= 0 || looksLeft <= 0 {
          way.isTired = true
          return .looksOn
        }
      }
      way.level = level == .min ? nil : try queue.priority(of: sender, upTo: level - 1)
      way.hosts.beginAnew()
      way.jobs = [:]
    }
    looks -= 1
    return .hasNone
  }

  private func begin(
    _ sender: Int64, _ queue: inout some TransferQueue, _ place: TransferTurns.Place
  ) throws -> Way {
    if let last = place.level, let level = try queue.priority(of: sender, upTo: last) {
      return Way(level: level, hosts: level == last ? place.hosts : Turn(after: place.hosts.last))
    }
    return Way(level: try queue.priority(of: sender, upTo: .max), hosts: Turn(after: place.hosts.last))
  }

  private func isUrgent(_ priority: Int64) -> Bool { priority >= TransferPriority.urgent }

  /// Who has none in hand gets one although all that there are for all are taken; and so does what is urgent.
  private func hasRoom(for sender: Int64, _ priority: Int64) -> Bool {
    if left > 0 { return true }
    return newcomers > 0
      && (isUrgent(priority) || sender != Self.services && ofSender[sender, default: 0] == 0)
  }

  private mutating func mayHave(_ host: Int64, _ priority: Int64) -> Bool {
    guard ofHost[host, default: 0] < hosts.share(of: host, isUrgent: isUrgent(priority)) else { return false }
    if isUrgent(priority) || !skipsCrawling || !hosts.crawling.contains(host) { return true }
    hasSkippedCrawling = true
    return false
  }

  /// The next host that a sender has links of; of those that have answered lately only, where the others have all that they may.
  private mutating func host(
    after last: Int64, of sender: Int64, _ level: Int64, _ jobs: [Int64: Int64],
    _ queue: inout some TransferQueue
  ) throws -> Int64? {
    if isUrgent(level) || ofUnknown < mostUnknown || ofSender[sender, default: 0] == 0 {
      return try queue.host(after: last, of: sender, level)
    }
    hasLeftUnknown = true
    if known.isEmpty { known = hosts.known.sorted() }
    let start = known.firstIndex { $0 > last } ?? known.count
    for host in known[start...].prefix(Self.looksOfVisit) where mayHave(host, level) {
      if try queue.job(after: jobs[host], of: sender, level, host) != nil { return host }
    }
    return nil
  }

  private mutating func take(_ job: Int64, _ host: Int64, _ sender: Int64) {
    if left > 0 { left -= 1 } else { newcomers -= 1 }
    hasInHand(host: host, sender: sender)
    taken.insert(job)
    chosen.append(job)
  }
}
