import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Manifest
import Pipeline
import Platform
import Scheduler

/// What `sluice enqueue` prints.
final class EnqueueReport {
  private let isJSON: Bool
  private let isQuiet: Bool
  private(set) var problems: ProblemGroups
  private(set) var added = 0
  private var known = 0
  /// Of the known ones, those that a person has deleted.
  private var deleted = 0
  /// While it waits, on a terminal.
  private var progress: ProgressBar?

  private let lineage: Lineage

  init(_ arguments: ParsedArguments, _ home: Home, manifest: String?) {
    lineage = Lineage { try home.reader() }
    isJSON = arguments.isJSON
    isQuiet = arguments.flag("quiet")
    problems = ProblemGroups(manifest: manifest)
  }

  func add(_ problem: IntakeProblem) {
    if problems.add(problem) { Terminal.error(problem.text) }
    if isJSON { Terminal.out(ProblemRecord.json(problem, line: problems.line(of: problem))) }
  }

  /// Files that are on record now.
  func add(_ items: [IntakeItem], _ report: IntakeReport) {
    added += report.added
    known += report.known
    deleted += report.knownDeleted
    report.problems.forEach(add)
    if !isJSON { return }
    var lines = ""
    for (item, outcome) in zip(items, report.outcomes) {
      switch outcome {
      case .added(let id): lines += Self.json(item, id, "added")
      case .known(let id): lines += Self.json(item, id, "known")
      case .deleted(let id): lines += Self.json(item, id, "deleted")
      case .refused: break
      }
    }
    Terminal.out(lines)
  }

  private static func json(_ item: IntakeItem, _ id: String, _ state: String) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "item")
      writer.member("id", id)
      writer.member("state", state)
      writer.member("reference", item.reference)
      writer.member("origin", item.origin)
      writer.source(item.link?.name ?? String(decoding: item.source, as: UTF8.self), item.source)
    }
    return writer.text + "\n"
  }

  /// All is handed over, or as much as could be.
  func endHandingOver() {
    for line in problems.rest { Terminal.error(line) }
    if isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "enqueued")
        writer.member("added", Int64(added))
        writer.member("known", Int64(known))
        writer.member("knownDeleted", Int64(deleted))
        writer.member("problems", Int64(problems.count))
      }
      Terminal.out(writer.text + "\n")
    } else if !isQuiet {
      Terminal.out(
        "\(added) queued" + (known > 0 ? ", \(known) known from before" : "")
          + (deleted > 0
            ? "; \(deleted) of them deleted since: `sluice delete --help` says how they come back" : "")
          + "\n"
      )
    }
  }

  // MARK: With --wait

  /// It begins to wait for so many attachments.
  func beginWait(for count: Int) {
    if !isQuiet && !isJSON && Terminal.isTerminal(STDERR_FILENO) {
      progress = ProgressBar(total: Int64(count))
    }
  }

  /// What is fetched meanwhile.
  func show(_ downloads: DownloadsAtWork?) {
    progress?.downloads = downloads
    progress?.draw()
  }

  /// Something that is to be known while it waits.
  func note(_ text: String) {
    progress?.clear()
    Terminal.error(text)
  }

  /// An attachment has ended.
  func add(_ record: AttachmentRecord) {
    progress?.clear()
    progress?.add(record)
    if isJSON {
      Terminal.out(RecordText.json(record))
    } else if !isQuiet || record.outcome.status != .completed {
      Terminal.out(RecordText.line(record, lineage))
    }
  }

  func end(_ wait: EndWait) {
    progress?.clear()
    progress = nil
    if isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "waited")
        writer.member("completed", Int64(wait.completed))
        writer.member("notCompleted", Int64(wait.notCompleted))
        writer.member("deleted", Int64(wait.deleted))
        writer.member("open", Int64(wait.open))
      }
      Terminal.out(writer.text + "\n")
    } else if !isQuiet {
      Terminal.out(
        "\(wait.completed) completed, \(wait.notCompleted) not completed"
          + (wait.deleted > 0 ? ", \(wait.deleted) deleted" : "") + "\n")
    }
    if wait.open > 0 {
      Terminal.error(
        "\(Count.text(wait.open, "attachment")) \(wait.open == 1 ? "has" : "have") not ended in time; run the same command "
          + "again to go on waiting, nothing is lost")
    }
  }
}
