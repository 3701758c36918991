import Glibc
import Platform

/// The output of a program that runs for months. Lines that cannot be written wait for the next attempt, in bounded
/// memory; lines beyond the bound are dropped whole and counted.
struct HeldOutput {
  /// In bytes.
  static let limit = 1 << 20

  private var held: [UInt8] = []
  private var dropped: Int64 = 0
  private var isFailing = false

  /// Whether output waits or is dropped now.
  var isHeldUp: Bool { isFailing }

  /// What people are told about an attempt; `nil`: nothing is new.
  struct Change {
    var message: String?
  }

  /// Writes what waits, then a text of whole lines.
  ///
  /// - Parameter attempt: writes bytes, and returns how many are written and the errno of a failure.
  mutating func write(
    _ text: String, by attempt: (UnsafeRawBufferPointer) -> (count: Int, error: Int32)
  ) -> Change {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      // Once a line is dropped, the lines after it are dropped too: the log has one gap, not many.
      if isFailing && (dropped > 0 || held.count + line.utf8.count >= Self.limit) {
        dropped += 1
      } else {
        held += line.utf8
        held.append(UInt8(ascii: "\n"))
      }
    }
    let (count, error) = held.withUnsafeBytes(attempt)
    // The reader has exited: nobody misses what waits.
    if error == EPIPE { held = [] } else { held.removeFirst(count) }
    let (failed, missing) = (isFailing, dropped)
    isFailing = error != 0 && error != EPIPE
    if isFailing {
      let reason = String(cString: strerror(error))
      return Change(
        message: failed
          ? nil : "standard output: \(reason); the work goes on, and lines wait until they can be written")
    }
    dropped = 0
    if !failed { return Change(message: nil) }
    let gap =
      missing == 0
      ? "" : "; \(Count.text(missing, "line")) could not be kept: `sluice list` shows every attachment"
    return Change(message: "standard output can be written again\(gap)")
  }
}
