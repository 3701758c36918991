import LedgerPort
import SQLite

/// Prepared statements, by the address of their text. To hash the text, or the address as a dictionary does, would cost as much as
/// binding the values of a short statement.
struct StatementCache {
  /// Twice as many as there are statements, at least; a power of two.
  private var slots = [(address: UInt, statement: Statement?)](repeating: (0, nil), count: 256)
  private var count = 0

  subscript(address: UInt) -> Statement? {
    let slot = slots[slot(of: address)]
    return slot.address == address ? slot.statement : nil
  }

  mutating func add(_ statement: Statement, _ address: UInt) {
    count += 1
    if count > slots.count / 2 { grow() }
    slots[slot(of: address)] = (address, statement)
  }

  /// Where it is, or where it has room.
  private func slot(of address: UInt) -> Int {
    var place = Int(truncatingIfNeeded: address >> 4) & (slots.count - 1)
    while slots[place].address != address && slots[place].address != 0 {
      place = (place + 1) & (slots.count - 1)
    }
    return place
  }

  private mutating func grow() {
    let old = slots
    slots = [(address: UInt, statement: Statement?)](repeating: (0, nil), count: old.count * 2)
    for entry in old where entry.address != 0 { slots[slot(of: entry.address)] = entry }
  }
}
