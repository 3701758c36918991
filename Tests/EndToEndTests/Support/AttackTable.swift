import Foundation

/// The result of every attack, written to `.build/sandbox-attacks.txt`.
enum AttackTable {
  static let file = SluiceCommand.projectFolder + "/.build/sandbox-attacks.txt"

  private static let rows = Rows()

  static func add(_ findings: [Surroundings.Finding], user: String) {
    rows.add(
      findings.map { finding in
        let word =
          !finding.effects.isEmpty ? "GOT OUT" : finding.wasKilled || finding.wasRefused ? "held" : "unclear"
        let became = ([finding.said] + finding.effects).joined(separator: "; ")
        return row([finding.attack.name, finding.attack.capability.rawValue, user, word], became)
      })
  }

  /// An attack of another kind: on objects of no process, or before the sandbox is closed.
  static func add(_ name: String, _ capability: Attack.Capability, isHeld: Bool, _ became: String) {
    rows.add([row([name, capability.rawValue, "own", isHeld ? "held" : "GOT OUT"], became)])
  }

  private static func row(_ cells: [String], _ became: String) -> String {
    let columns = zip(cells, [20, 9, 18, 9]).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
    return columns.joined(separator: " ") + became.replacingOccurrences(of: "\n", with: " ").prefix(160)
  }

  /// Unchecked because the lock is held at every access.
  private final class Rows: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    func add(_ more: [String]) {
      lock.withLock {
        lines += more
        try? Data((lines.joined(separator: "\n") + "\n").utf8).write(
          to: URL(fileURLWithPath: AttackTable.file))
      }
    }
  }
}
