import LedgerPort
import Platform

/// Why a lane stands still, as it is printed.
enum PauseText {
  /// Who paused it, since when and why.
  static func text(_ pause: Pause) -> String {
    "\(origin(pause)): \(Terminal.printable(pause.reason))"
  }

  /// Who paused it and since when.
  static func origin(_ pause: Pause) -> String {
    (pause.by.isEmpty ? "" : "by \(Terminal.printable(pause.by)) ") + "since \(Clock.timestamp(pause.since))"
  }

  /// Whether it follows a condition of the pipeline, and ends with that alone.
  static func isCondition(_ pause: Pause) -> Bool { ["schedule", "not-attended"].contains(pause.code) }

  /// What leads on.
  static func remedy(_ lane: LaneName, _ pause: Pause, _ hint: Hint) -> String {
    let resume = hint("resume", ShellWord.of(lane.description))
    switch pause.cause {
    case .person: return "\(resume) lets lane \(Terminal.printable(lane.description)) go on"
    case .hand:
      return
        "lane \(Terminal.printable(lane.description)) stands until a person lifts that, once it is put right: \(resume)"
    case .fault where isCondition(pause):
      return "lane \(Terminal.printable(lane.description)) goes on by itself then"
    case .fault:
      return
        "lane \(Terminal.printable(lane.description)) goes on by itself, or with the next start, once that is put right; "
        + "\(resume) tries it at once"
    }
  }
}
