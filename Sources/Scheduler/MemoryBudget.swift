/// Bounds the memory that new content takes over all attachments: it belongs to no process, so that no process's limit holds it.
///
/// A stage that may write new content is given work once there is room for all it may write. Values only; the scheduler acts
/// on the answers.
struct MemoryBudget {
  /// Bytes.
  let total: Int64
  /// What workers may write at the moment, by serial.
  private var writing: [UInt64: Int64] = [:]
  private var written: Int64 = 0

  init(total: Int64) {
    self.total = total
  }

  /// Whether there is room. One attachment at a time there always is, or a limit that is set too low would stop everything:
  /// so no more than `total` and one output are ever in use.
  ///
  /// - Parameter held: bytes of new content that exist already.
  func hasRoom(for output: Int64, held: Int64) -> Bool {
    writing.isEmpty || held + written + output <= total
  }

  mutating func begin(_ serial: UInt64, _ output: Int64) {
    end(serial)
    writing[serial] = output
    written += output
  }

  mutating func end(_ serial: UInt64) {
    if let output = writing.removeValue(forKey: serial) { written -= output }
  }
}
