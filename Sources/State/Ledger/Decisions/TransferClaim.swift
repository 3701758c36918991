import Pipeline

/// Goes once through the hosts that have due transfers, from the one after the last that had a turn.
package struct HostTurn {
  /// So many are looked at, at most: a claim takes no longer where there are many.
  private var left = 64
  private let start: Int64
  private var last: Int64
  private var hasBegunAnew = false

  package init(after last: Int64) { (start, self.last) = (last, last) }

  /// The next host; `nil`: each had its turn.
  ///
  /// - Parameter host: the least that is greater.
  package mutating func next(_ host: (_ after: Int64) throws -> Int64?) rethrows -> Int64? {
    if left == 0 { return nil }
    left -= 1
    var next = try host(last)
    if next == nil && !hasBegunAnew && start != .min {
      hasBegunAnew = true
      next = try host(.min)
    }
    guard let next, !hasBegunAnew || next <= start else { return nil }
    last = next
    return next
  }
}

/// Decides which due transfers are leased, so that each host has its share.
package struct TransferClaim {
  private let count: Int
  private let hosts: HostShares
  private var inHand: [Int64: Int] = [:]
  private var taken: Set<Int64> = []

  /// - Parameters:
  ///   - count: leases that are wanted.
  ///   - hosts: how many of each host may be in hand.
  package init(count: Int, _ hosts: HostShares) {
    (self.count, self.hosts) = (count, hosts)
  }

  /// A host has so many in hand already.
  package mutating func hasInHand(_ host: Int64, _ number: Int) { inHand[host] = number }

  /// How many of those at the front of the queue to look at.
  package var looks: Int { hosts.full > 0 ? count * 4 : count }

  package var isFull: Bool { taken.count >= count }

  /// Whether a due job is leased.
  package mutating func takes(job: Int64, _ host: Int64, priority: Int64) -> Bool {
    if isFull || taken.contains(job) { return false }
    let share = hosts.share(of: host, isUrgent: priority >= TransferPriority.urgent)
    if inHand[host, default: 0] >= share { return false }
    inHand[host, default: 0] += 1
    taken.insert(job)
    return true
  }
}
