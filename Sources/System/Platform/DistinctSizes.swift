/// Counts distinct things by their hashes, with the sum of their sizes, in bounded memory.
///
/// Up to ``exactLimit`` things the result is exact. Beyond, only those whose hash ends in so many zero bits are kept, and stand
/// for the others: at least half of that many are kept, and the count is some 0.2 percent off. The sum of sizes may be further off where a
/// few things are far larger than the rest.
public struct DistinctSizes: Sendable {
  /// 32 MB of memory.
  public static let exactLimit = 1_300_000

  private let limit: Int
  private var slots: [(hash: UInt64, size: Int64)]
  private var kept = 0
  /// Hashes that are kept end in so many zero bits.
  private var zeros: UInt64 = 0

  /// - Parameter limit: how many are counted exactly.
  public init(limit: Int = Self.exactLimit) {
    self.limit = limit
    slots = Array(repeating: (0, 0), count: 1024)
  }

  public var isExact: Bool { zeros == 0 }
  public var count: Int64 { Int64(kept) << Int64(zeros) }
  public var size: Int64 {
    var sum: Int64 = 0
    for slot in slots where slot.hash != 0 { sum &+= slot.size }
    let (scaled, overflow) = sum.multipliedReportingOverflow(by: 1 << Int64(zeros))
    return overflow ? .max : scaled
  }

  /// Adds a thing, unless it was added before.
  ///
  /// - Parameter hash: must be evenly distributed, as a part of a SHA-256 is.
  public mutating func add(hash: UInt64, size: Int64) {
    // 0 stands for a free slot; the largest number ends in no zero bit, so that it stays rare.
    let hash = hash == 0 ? .max : hash
    guard hash.trailingZeroBitCount >= zeros, insert(hash, size) else { return }
    kept += 1
    if kept > limit {
      zeros += 1
      rebuild(slots.count)
    } else if kept * 3 > slots.count * 2 {
      rebuild(slots.count * 2)
    }
  }

  private mutating func insert(_ hash: UInt64, _ size: Int64) -> Bool {
    let mask = UInt64(slots.count - 1)
    var index = (hash >> 20) & mask  // its last bits are those that are alike in a sample
    while slots[Int(index)].hash != 0 {
      if slots[Int(index)].hash == hash { return false }
      index = (index + 1) & mask
    }
    slots[Int(index)] = (hash, size)
    return true
  }

  private mutating func rebuild(_ room: Int) {
    let old = slots
    slots = Array(repeating: (0, 0), count: room)
    kept = 0
    for slot in old where slot.hash != 0 && slot.hash.trailingZeroBitCount >= zeros {
      _ = insert(slot.hash, slot.size)
      kept += 1
    }
  }
}
