import Foundation
import SQLite
import Testing

/// An ingest of hostile content, and the rules for any content: each attachment has one final state with a
/// documented reason, is told once, and stays within its stages' limits; the coordinator survives, and no
/// worker is left.
struct HostileRun {
  let inbox: Inbox
  /// The time limits of stages, in milliseconds.
  var timeouts: [String: Int] = [:]
  /// The largest memory limit of any stage, in megabytes.
  var memory = 512

  /// All allowed reason codes: those that the README lists, and those of ended workers.
  static let codes: [String: Set<String>] = [
    "mime": ["type-not-allowed"], "size": ["too-large", "too-small", "empty"],
    "pdf": ["pdf-damaged", "pdf-encrypted", "too-many-pages"], "text": ["no-text"],
    "image": ["image-damaged", "too-many-pixels", "not-rewritten", "not-encoded"],
  ]
  static let deaths: Set = [
    "crashed", "timed-out", "out-of-memory", "output-limit", "forbidden-call", "flooded", "invalid-reply",
  ]

  /// The allowed time beyond a limit, in seconds.
  static let grace = Soak.isOn ? 1.0 : 20
  /// The memory of a worker without content: libraries, fonts, the database of media types; in megabytes.
  static let bare = 160

  struct Ended {
    var run: Inbox.Run
    /// The number of broken rules.
    var wrong: Int
  }

  /// - Parameters:
  ///   - name: the name of a file in messages.
  ///   - keep: called for a file that did not end as it should.
  @discardableResult
  func run(
    within seconds: Double = 120, name: (String) -> String = { $0 }, keep: (String) -> Void = { _ in }
  ) throws -> Ended {
    let underway = try inbox.start()
    let watch = MemoryWatch(underway.process.processIdentifier)
    let run = try underway.end(within: seconds)
    let peak = watch.stop()
    #expect(peak <= (memory + Self.bare) * 1024, "a worker grew to \(peak) kB")
    return Ended(run: run, wrong: try check(run, name, keep) + (run.outcome.wasKilled ? 1 : 0))
  }

  private func check(
    _ run: Inbox.Run, _ name: (String) -> String, _ keep: (String) -> Void
  ) throws -> Int {
    var wrong = 0
    #expect(!run.outcome.wasKilled, "the coordinator was ended by signal \(run.outcome.status)")
    #expect(run.outcome.status == 0 || run.outcome.status == 1, "\(run.outcome.status): \(run.outcome.err)")
    #expect(run.outcome.err == "", "\(run.outcome.err.prefix(500))")
    #expect(Inbox.workers(of: run.pid) == [], "no worker is left")
    let records = run.outcome.attachments
    let ends = Dictionary(grouping: records, by: \.fileName)
    for file in inbox.folder.files(below: "in") {
      let isDocumented = ends[file]?.count == 1 && ends[file].map { Self.isDocumented($0[0]) } == true
      #expect(isDocumented, "\(name(file)): \(ends[file] ?? [])")
      if isDocumented { continue }
      wrong += 1
      keep(file)
    }
    let statuses = records.map { ("\(inbox.folder.path)/in/\($0.fileName)", Set([$0.status])) }
    wrong += try inbox.witness.check(Dictionary(statuses) { first, _ in first }, recipients: ["ben"])
    return wrong + (try checkTimes(name, keep))
  }

  /// Completed, or ended for a reason that the README lists.
  private static func isDocumented(_ record: Printed.Attachment) -> Bool {
    guard let reason = record.reason else { return record.isCompleted }
    if deaths.contains(reason.code) { return record.status == "rejected" || record.status == "quarantined" }
    return record.status == "rejected" && codes[reason.stage]?.contains(reason.code) == true
  }

  /// Every attempt of every stage ended within its time limit and a second.
  private func checkTimes(_ name: (String) -> String, _ keep: (String) -> Void) throws -> Int {
    var wrong = 0
    let connection = try Connection(inbox.folder.path + "/home/sluice.db", .readOnly)
    for (stage, limit) in timeouts {
      let sql = """
        SELECT file_name, microseconds, coalesce(code, '') FROM steps JOIN attachments ON key = attachment_key
        WHERE stage = ?1 ORDER BY microseconds DESC LIMIT 1
        """
      try connection.prepare(sql).rows(.text(stage)) { row in
        let seconds = Double(row.integer(1)) / 1e6
        let allowed = Double(limit) / 1000 + Self.grace
        #expect(seconds <= allowed, "\(name(row.text(0))): \(stage) took \(seconds) s (\(row.text(2)))")
        if seconds <= allowed { return }
        wrong += 1
        keep(row.text(0))
      }
    }
    return wrong
  }
}

/// Samples the workers of a coordinator continuously, and remembers the largest memory.
final class MemoryWatch: @unchecked Sendable {
  private let lock = NSLock()
  private var peak = 0
  private var isOver = false
  private let ended = DispatchSemaphore(value: 0)

  init(_ coordinator: Int32) {
    Thread.detachNewThread { [self] in
      while !lock.withLock({ isOver }) {
        let text =
          (try? String(contentsOfFile: "/proc/\(coordinator)/task/\(coordinator)/children", encoding: .utf8))
          ?? ""
        for child in text.split(separator: " ").compactMap({ Int32($0) }) {
          let size = Int(WorkerStanding(of: child).status("VmHWM").prefix { $0.isNumber }) ?? 0
          lock.withLock { peak = max(peak, size) }
        }
        usleep(20_000)
      }
      ended.signal()
    }
  }

  /// Returns kB.
  func stop() -> Int {
    lock.withLock { isOver = true }
    ended.wait()
    return peak
  }
}
