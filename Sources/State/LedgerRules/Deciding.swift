import LedgerPort

/// What commands of one concern do, without I/O: an engine loads what a group of them has to see, and stores what they write.
package protocol Deciding {
  associatedtype Request: Sendable
  /// What an engine loads for a request, by its key.
  associatedtype Key: Hashable
  /// What it finds there.
  associatedtype Fact
  /// What an engine stores.
  associatedtype Write

  /// The keys of the rows that these requests have to see, and that stay as they are until what is decided is stored.
  static func needs(_ requests: [Request]) -> Set<Key>

  /// Decides requests in their order; each sees what those before it have done. A key without a fact is that of no row.
  static func decide(_ requests: [Request], _ facts: [Key: Fact]) -> (
    results: [CommandResult], writes: [Write]
  )
}
