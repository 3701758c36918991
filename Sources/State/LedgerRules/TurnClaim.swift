import LedgerPort
import Pipeline
import Platform

/// The due jobs of a lane, as a claim looks at them. An index answers each question, however many jobs there are.
package protocol TurnQueue {
  /// The highest priority below one; `nil` for that: the highest.
  mutating func priority(below last: Int64?) throws -> Int64?
  /// The least sender that is greater, of one priority.
  mutating func sender(after last: Int64, _ priority: Int64) throws -> Int64?
  /// Takes up to so many of a sender's jobs of one priority, the oldest first; those that were taken before are passed over.
  ///
  /// - Returns: how many there were.
  mutating func take(_ count: Int, of sender: Int64, _ priority: Int64) throws -> Int
  /// Nothing more is to be taken.
  var isOver: Bool { get }
}

/// Decides whose attachments and deliveries are leased next.
///
/// The higher priority goes first. Of one priority the senders have their turns, so that a thousand jobs of one hold up no other. What a
/// sender may have in hand depends on what is free: three times as much, the rule by which switches share memory
/// (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998). So one alone has three quarters of
/// the window at most, and a quarter is free for whoever comes next, also where nothing that is in hand ever ends.
package struct TurnClaim {
  /// Stands for what is no user's.
  package static let nobody: Int64 = 0
  /// What is in hand of a sender's, in multiples of what is free.
  package static let share = 3
  /// Senders that share what is left at once.
  private static let most = 64

  private var left: Int
  private var inHand: [Int64: Int]?

  /// - Parameters:
  ///   - count: leases that are free.
  ///   - inHand: the leases that each sender has; `nil`: one may have all that are free.
  package init(_ count: Int, inHand: [Int64: Int]?) {
    (left, self.inHand) = (count, inHand)
  }

  /// The number of a sender, or of a conversation, in the order of turns: positive. Owners with the same number share their turns.
  package static func turn(of owner: String, _ hash: SHA256) -> Int64 {
    var values = HashedValues()
    values.add("turn")
    values.add(owner)
    let number = hash.digest(of: values).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(number >> 1) | 1
  }

  /// Takes jobs out of a queue.
  ///
  /// - Parameter last: the sender that had the last turn.
  package mutating func take(from queue: inout some TurnQueue, after last: inout Int64) throws {
    var level = try queue.priority(below: nil)
    while left > 0, !queue.isOver, let priority = level {
      try take(priority, from: &queue, after: &last)
      level = try queue.priority(below: priority)
    }
  }

  private mutating func take(
    _ priority: Int64, from queue: inout some TurnQueue, after last: inout Int64
  ) throws {
    var turn = Turn(after: last)
    while left > 0, !queue.isOver {
      var senders: [Int64] = []
      while senders.count < min(left, Self.most),
        let sender = try turn.next({ try queue.sender(after: $0, priority) })
      {
        senders.append(sender)
      }
      if senders.isEmpty { return }
      try share(senders, priority, from: &queue, after: &last)
    }
  }

  /// Each gets the same, then those that have more of what is left.
  private mutating func share(
    _ all: [Int64], _ priority: Int64, from queue: inout some TurnQueue, after last: inout Int64
  ) throws {
    var senders = all
    while left > 0, !senders.isEmpty, !queue.isOver {
      let each = max(left / senders.count, 1)
      var others: [Int64] = []
      for sender in senders where left > 0 && !queue.isOver {
        let count = min(each, room(for: sender))
        if count == 0 { continue }
        let taken = try queue.take(count, of: sender, priority)
        left -= taken
        inHand?[sender, default: 0] += taken
        if taken > 0 { last = sender }
        if taken == count { others.append(sender) }
      }
      senders = others
    }
  }

  /// How many more a sender may have: after that it has as much as it may beside what is free then.
  private func room(for sender: Int64) -> Int {
    guard let inHand else { return left }
    let held = inHand[sender, default: 0]
    return min(max((Self.share * left - held + Self.share) / (Self.share + 1), 0), left)
  }
}

extension LedgerRows {
  mutating func turn(of sender: String, in conversation: String, _ tally: ExchangeTally) throws(Failure)
    -> Int64
  {
    switch tally.turns {
    case .sender: try turn(of: sender)
    case .conversation: try turn(of: conversation)
    }
  }
}
