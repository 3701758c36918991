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

  /// Whether there is room for an output.
  ///
  /// Even where a limit is set too low for it, one output at a time is let through: where there is no other new content, or for
  /// an attachment that holds some already, since only its going on gives that back. So no more than `total` and one output
  /// are ever in use.
  ///
  /// - Parameters:
  ///   - held: bytes of new content that exist already, of all attachments.
  ///   - own: of these, the bytes of the attachment that asks.
  func hasRoom(for output: Int64, held: Int64, own: Int64) -> Bool {
    if held + written + output <= total { return true }
    return writing.isEmpty && (held == 0 || own > 0)
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
