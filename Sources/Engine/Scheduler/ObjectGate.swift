/// Keeps equal contents from being stored side by side.
///
/// The first attachment on its way to the store with a content goes ahead; others with the same content wait until it is on
/// record, and ask again. Values only; the scheduler acts on the answers.
struct ObjectGate {
  /// Those who wait, by serial, for each content under way.
  private var waiting: [String: [UInt64]] = [:]

  /// True: it is the first, and goes on. False: it waits for the first.
  mutating func enter(_ sha256: String, _ serial: UInt64) -> Bool {
    guard waiting[sha256] == nil else {
      waiting[sha256]?.append(serial)
      return false
    }
    waiting[sha256] = []
    return true
  }

  /// The first has ended. Those who waited may try again: the ledger knows the object now, or one of them is the next first.
  mutating func leave(_ sha256: String) -> [UInt64] {
    waiting.removeValue(forKey: sha256) ?? []
  }
}
