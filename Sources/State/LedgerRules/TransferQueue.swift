import LedgerPort
import Pipeline

/// The due transfers of a lane, as a claim looks at them. An index answers each question, however many transfers there are.
package protocol TransferQueue {
  /// Those from whose priority on others stand still: the most urgent first, then the oldest.
  mutating func urgent(_ count: Int) throws -> [DueTransfer]
  /// The least sender that is greater.
  mutating func sender(after last: Int64) throws -> Int64?
  /// The highest priority of a sender's, up to one.
  mutating func priority(of sender: Int64, upTo most: Int64) throws -> Int64?
  /// The least host that is greater, of a sender's with one priority.
  mutating func host(after last: Int64, of sender: Int64, _ priority: Int64) throws -> Int64?
  /// The job that is next after another; `nil` for that: the first.
  mutating func job(after last: Int64?, of sender: Int64, _ priority: Int64, _ host: Int64) throws -> Int64?
}

package struct DueTransfer {
  package var job: Int64
  package var host: Int64
  package var sender: Int64
  package var priority: Int64

  package init(job: Int64, host: Int64, sender: Int64, priority: Int64) {
    (self.job, self.host, self.sender, self.priority) = (job, host, sender, priority)
  }
}

/// Goes once through numbers that are there, in rising order: from the one after the last that had a turn to that one.
package struct Turn: Sendable {
  private var start: Int64
  private(set) var last: Int64
  private var hasBegunAnew = false

  package init(after last: Int64 = .min) { (start, self.last) = (last, last) }

  /// The next; `nil`: each had its turn.
  ///
  /// - Parameter least: that is greater.
  mutating func next(_ least: (_ after: Int64) throws -> Int64?) rethrows -> Int64? {
    var next = try least(last)
    if next == nil && !hasBegunAnew && start != .min {
      hasBegunAnew = true
      next = try least(.min)
    }
    guard let next, !hasBegunAnew || next <= start else { return nil }
    last = next
    return next
  }

  /// The last got something: all the others are before it again.
  mutating func beginAnew() { (start, hasBegunAnew) = (last, false) }
}

/// Who had a turn last, of senders and of the hosts of each. A coordinator keeps it from claim to claim.
package struct TransferTurns: Sendable {
  /// Where a claim ended in the transfers of a sender.
  struct Place: Sendable {
    /// Where it looked at enough, and the next goes on; `nil`: it begins with the highest priority.
    var level: Int64?
    var hosts: Turn
  }

  /// Senders that are kept.
  private static let kept = 1000

  var sender: Int64 = .min
  private var places: [Int64: Place] = [:]

  package init() {}

  subscript(sender: Int64) -> Place { places[sender] ?? Place(hosts: Turn()) }

  mutating func keep(_ new: [Int64: Place]) {
    if places.count + new.count > Self.kept { places.removeAll() }
    places.merge(new) { $1 }
  }
}

extension Sealer {
  /// What stands for the host of a link where it is counted: the first bytes of a blind index of scheme, host and port.
  package func host(of link: Link) throws -> Int64 {
    try number(Array((LinkPlace(link.url)?.text ?? "").utf8), purpose: "host")
  }

  /// What stands for the user whose link it is, where users have their turns.
  package func sender(of link: Link) throws -> Int64 {
    try link.scope.map { try number(Array($0.utf8), purpose: "sender") } ?? TransferClaim.services
  }

  private func number(_ bytes: [UInt8], purpose: String) throws -> Int64 {
    try blindIndex(bytes, purpose: purpose).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
  }
}
