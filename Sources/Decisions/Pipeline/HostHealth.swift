/// How many leases of one host may be in hand, of all coordinators, so that a host that does not answer keeps no other waiting.
public struct HostShares: Sendable, Equatable {
  /// Of a host that answers; 0: any number of each host.
  public var full: Int
  /// The hosts that get the full share, while each other gets a single lease; `nil`: all get it.
  public var answering: Set<Int64>?
  /// Hosts that get nothing now, except what is urgent.
  public var resting: Set<Int64>
  /// The hosts that have answered lately.
  public var known: Set<Int64>
  /// How many leases of all other hosts may be in hand as long as those that have answered have some waiting.
  public var unknown: Int
  /// Hosts whose content crawls: they get nothing, except what is urgent, as long as others have something waiting.
  public var crawling: Set<Int64> = []
  /// Of the leases that are wanted, those that such hosts get in no case.
  public var reserved = 0

  public init(
    _ full: Int = 0, answering: Set<Int64>? = nil, resting: Set<Int64> = [], known: Set<Int64> = [],
    unknown: Int = .max
  ) {
    (self.full, self.answering, self.resting) = (full, answering, resting)
    (self.known, self.unknown) = (known, unknown)
  }

  /// - Parameter isUrgent: a person waits for it: it is tried whatever is known of the host.
  public func share(of host: Int64, isUrgent: Bool) -> Int {
    if full == 0 { return .max }
    if isUrgent { return full }
    if resting.contains(host) { return 0 }
    return answering?.contains(host) ?? true ? full : 1
  }
}

/// Which hosts answer, as far as transfers have shown. A connection that waits for a host that is dead is of no use to the others:
/// a host that has not answered yet is tried with one, and while others answer, one that did not answer rests before it is tried
/// again.
public struct HostHealth: Sendable {
  /// When each was last heard, in milliseconds.
  private var heard: [Int64: Int64] = [:]
  private var answering: Set<Int64> = []
  /// Those that did not answer, and until when each rests.
  private var silent: [Int64: Int64] = [:]
  /// When one that answers was heard last.
  private var heardLast: Int64 = .min

  /// Milliseconds for which a host that did not answer rests; and for which others that answered want the connections.
  private static let (rest, contest): (Int64, Int64) = (30_000, 10_000)
  /// Hosts that are remembered. All are forgotten where there are more: each is tried with one connection again.
  private static let limit = 10_000

  public init() {}

  /// Something came from a host.
  ///
  /// - Parameter now: in milliseconds of any clock that is not set.
  /// - Returns: whether it may have more connections than it had.
  public mutating func hears(_ host: Int64, at now: Int64) -> Bool {
    if heard.count + silent.count >= Self.limit { self = HostHealth() }
    heard[host] = now
    heardLast = now
    silent[host] = nil
    return answering.insert(host).inserted
  }

  /// A transfer heard nothing from its host.
  ///
  /// - Parameter begin: when it began. Where another has heard the host since, the host answers.
  public mutating func missed(_ host: Int64, since begin: Int64, at now: Int64) {
    if let last = heard[host], last > begin { return }
    heard[host] = nil
    heardLast = heard.values.max() ?? .min
    answering.remove(host)
    silent[host] = now + Self.rest
  }

  /// - Parameters:
  ///   - full: leases of a host that answers.
  ///   - connections: leases of all hosts. Where some answer, the others leave them half.
  public func shares(_ full: Int, of connections: Int, at now: Int64) -> HostShares {
    let unknown = answering.isEmpty ? Int.max : max(connections / 2, 1)
    if now - Self.contest > heardLast {
      return HostShares(full, answering: answering.union(silent.keys), known: answering, unknown: unknown)
    }
    return HostShares(
      full, answering: answering, resting: Set(silent.lazy.filter { $0.value > now }.map(\.key)),
      known: answering, unknown: unknown)
  }
}
