import Control
import Glibc
import HomeFolder
import LedgerPort
import Platform
import Scheduler

/// Compares the pipeline of a command with that of the coordinator at work. What a command queues again is worked on at once by
/// the coordinator's.
struct PipelineMismatch {
  private let home: Home
  private let file: String
  private let fingerprint: String

  init(_ home: Home, _ pipeline: LoadedPipeline, file: String) throws {
    self.home = home
    self.file = Self.path(of: file)
    fingerprint = try PipelineAtWork.fingerprint(of: pipeline.definition)
  }

  /// The path in full, so that it means the same to both processes; as it is where it names no file.
  static func path(of file: String) -> String {
    guard let path = realpath(file, nil) else { return file }
    defer { free(path) }
    return String(cString: path)
  }

  /// Throws where a coordinator has the home that works with another pipeline.
  func checkCoordinator() throws {
    do {
      try check(try ControlClient(home).pipelineAtWork())
    } catch let error as SystemError where [ENOENT, ECONNREFUSED].contains(error.code) {
      // No coordinator listens.
    } catch let error as SystemError {
      throw LedgerError(
        .inUse,
        "the coordinator of \(home.path) does not answer (\(error)); it may be stopped or overloaded, so try again later"
      )
    } catch let error as ControlRefusal {
      throw LedgerError(
        .inUse,
        "the coordinator of \(home.path) does not say which pipeline it works with (\(error)); try again later, or stop it"
      )
    }
  }

  /// - Parameter atWork: `nil`: the coordinator has none yet.
  func check(_ atWork: PipelineAtWork?) throws(CommandError) {
    if let atWork, atWork.fingerprint == fingerprint { return }
    throw CommandError(.temporary, message(atWork))
  }

  private func message(_ atWork: PipelineAtWork?) -> String {
    let own = Terminal.printable(file)
    guard let atWork else {
      return "the coordinator of \(home.path) is just beginning; run the same command again"
    }
    let theirs = Terminal.printable(atWork.file)
    let who = "the coordinator of \(home.path) (process \(atWork.process))"
    let what =
      theirs == own
      ? "\(who) works with \(own) as it was when it read it: the file, a variable in it or a plugin is another now"
      : "\(who) works with \(theirs), and would begin at once by that and not by \(own)"
    if atWork.file == BuiltInPipeline.name {
      return "\(what); start it again with --config \(own), then run the same command again"
    }
    if !atWork.isResident { return "\(what); wait for it to end, then run the same command again" }
    let change =
      theirs == own ? "have it read the file" : "put what is to hold into \(theirs) and have it read that"
    return "\(what); \(change) (kill -HUP \(atWork.process)), or stop it, then run the same command again"
  }
}
