import Foundation

enum Memory {
  /// Bytes that a process had at most (VmHWM).
  static func peak(of pid: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Int(line.split(separator: " ").dropFirst().first ?? "") ?? .max >> 10) << 10
  }
}

/// Counts how many are inside at a time.
///
/// Unchecked because the lock guards both counts.
final class Gate: @unchecked Sendable {
  private let lock = NSLock()
  private var inside = 0
  private var mostInside = 0

  var most: Int { lock.withLock { mostInside } }

  func enter() {
    lock.withLock {
      inside += 1
      mostInside = max(mostInside, inside)
    }
    usleep(30_000)
  }

  func leave() { lock.withLock { inside -= 1 } }
}
