import Platform
import Scheduler

/// What workers do, for people and for programs.
enum WorkersText {
  /// Each group, and what has been at work longest. None: nothing is known of workers.
  static func lines(_ workers: WorkersAtWork?, at now: Int64) -> [String] {
    guard let workers else { return [] }
    let groups = workers.groups.filter { $0.total > 0 }.map {
      "\(Terminal.printable($0.name)) \($0.busy)/\($0.total)"
    }
    var lines = ["workers \(workers.busy)/\(workers.total) busy: \(groups.joined(separator: "; "))"]
    if let longest = workers.longest { lines.append("longest \(text(longest, at: now))") }
    return lines
  }

  /// One line, without its beginning.
  static func line(_ workers: WorkersAtWork, at now: Int64) -> String {
    "\(workers.busy) of \(workers.total) busy"
      + (workers.longest.map { "; the longest is \(text($0, at: now))" } ?? "")
  }

  private static func text(_ piece: WorkersAtWork.Piece, at now: Int64) -> String {
    "\(Terminal.printable(piece.stage)) for \(Age.text(milliseconds: max(now &- piece.since, 0))) on "
      + "\(Terminal.printable(piece.attachmentId)), since \(Clock.timestamp(piece.since))"
  }

  /// The members of a record. Without a coordinator there are no groups.
  static func members(_ workers: WorkersAtWork?, _ writer: inout JSONWriter) {
    writer.key("groups")
    writer.array { writer in
      for group in workers?.groups ?? [] {
        writer.object { writer in
          writer.member("name", group.name)
          writer.member("busy", Int64(group.busy))
          writer.member("total", Int64(group.total))
        }
      }
    }
    writer.key("longest")
    guard let longest = workers?.longest else { return writer.value(nil as String?) }
    writer.object { writer in
      writer.member("stage", longest.stage)
      writer.member("attachmentId", longest.attachmentId)
      writer.member("since", Clock.timestamp(longest.since))
    }
  }
}
