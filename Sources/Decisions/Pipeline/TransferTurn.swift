/// Decides which of the transfers that wait for a connection begins next.
///
/// What is urgent begins at once. Of the others the higher priority goes first, but for users, who have their turns: one with fewer
/// under way goes before one with more, however many links that one has handed in, and whatever it says of their haste. One who has
/// none under way gets a connection although all are taken: the slow links of others do not keep that user waiting.
///
/// What crawls uses little of the line, and may do so for very long: up to half as many connections again make up for that. They
/// are for hosts of which nothing crawls.
public struct TransferTurn: Sendable {
  /// A transfer that waits, or is under way.
  public struct Entry: Sendable {
    public var priority: Int64
    /// The user whose link it is; `nil`: it is a service's, or was handed in on the server itself.
    public var user: String?
    public var host: Int64
    /// Of those that are alike in all else the smaller goes first.
    public var serial: UInt64
    /// It is under way, and next to nothing comes.
    public var crawls: Bool

    public init(priority: Int64, user: String?, host: Int64, serial: UInt64, crawls: Bool = false) {
      (self.priority, self.user, self.host, self.serial) = (priority, user, host, serial)
      self.crawls = crawls
    }
  }

  private let connections: Int
  private let perHost: Int
  private let urgent: Int64
  private var count = 0
  private var hosts: [Int64: Int] = [:]
  private var users: [String?: Int] = [:]
  private var crawling = 0
  private var crawlingHosts: Set<Int64> = []

  /// - Parameters:
  ///   - connections: under way at once. Users who have none get as many more at most, and half as many make up for what crawls.
  ///   - perHost: of these, to one host.
  ///   - urgent: the priority from which neither of the two holds.
  public init(connections: Int, perHost: Int, urgent: Int64, underway: some Sequence<Entry>) {
    (self.connections, self.perHost, self.urgent) = (connections, perHost, urgent)
    for entry in underway {
      count += 1
      hosts[entry.host, default: 0] += 1
      users[entry.user, default: 0] += 1
      if entry.crawls {
        crawling += 1
        crawlingHosts.insert(entry.host)
      }
    }
  }

  /// The place of the next; `nil`: each waits for a connection.
  public func next(of waiting: [Entry]) -> Int? {
    waiting.indices.filter { mayBegin(waiting[$0]) }.min { goes(waiting[$0], before: waiting[$1]) }
  }

  private func mayBegin(_ entry: Entry) -> Bool {
    if entry.priority >= urgent { return true }
    if hosts[entry.host, default: 0] >= perHost { return false }
    let spare = crawlingHosts.contains(entry.host) ? 0 : min(crawling, (connections + 1) / 2)
    if count < connections + spare { return true }
    return entry.user != nil && underway(entry) == 0 && count < connections * 2
  }

  private func underway(_ entry: Entry) -> Int { users[entry.user, default: 0] }

  private func goes(_ one: Entry, before other: Entry) -> Bool {
    let isUrgent = (one.priority >= urgent, other.priority >= urgent)
    if isUrgent.0 != isUrgent.1 { return isUrgent.0 }
    return (-rank(one), underway(one), -one.priority, hosts[one.host, default: 0], one.serial)
      < (-rank(other), underway(other), -other.priority, hosts[other.host, default: 0], other.serial)
  }

  /// What counts before users have their turns: the haste of one is no other's.
  private func rank(_ entry: Entry) -> Int64 { entry.user == nil ? entry.priority : min(entry.priority, 0) }
}
