import Foundation
import Testing

/// A running `sluice run`, and other processes that pass files to it.
final class Resident {
  let folder: TemporaryFolder
  let process: Process
  private let name: String

  /// - Parameter home: relative to the folder.
  init(
    _ folder: TemporaryFolder, home: String = "home", options: [String] = [],
    environment: [String: String] = [:]
  ) throws {
    self.folder = folder
    name = "run-\(UUID().uuidString)"
    process = try SluiceCommand.start(
      ["run", "--home", home, "--config", "pipeline.yaml", "--format", "json"] + options, in: folder,
      out: folder.path + "/\(name).out", err: folder.path + "/\(name).err", environment: environment)
    try Self.wait("it says that it works") {
      self.errors.contains("works the queue of") || !self.process.isRunning
    }
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  var errors: String { (try? folder.read("\(name).err")) ?? "" }

  /// The attachments it has reported.
  var ended: [Printed.Attachment] {
    Printed.records(Printed.Attachment.self, in: (try? folder.read("\(name).out")) ?? "")
  }

  /// Waits until this number has ended.
  func wait(for count: Int, seconds: Double = 30) throws {
    try Self.wait("\(count) have ended", seconds: seconds) {
      self.ended.count >= count || !self.process.isRunning
    }
    #expect(ended.count == count, "\(errors)")
  }

  /// Sends a signal and waits for the end.
  func stop(_ signal: Int32 = SIGTERM) -> Int32 {
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Stops a process, and waits until each of its threads stands still: until the first has taken the signal, the others go on.
  static func suspend(_ process: Int32) throws {
    kill(process, SIGSTOP)
    let folder = "/proc/\(process)/task"
    try wait("process \(process) stands still") {
      try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy {
        let text = try? String(contentsOfFile: "\(folder)/\($0)/stat", encoding: .utf8)
        return text.map { $0.suffix(from: $0.lastIndex(of: ")") ?? $0.startIndex).hasPrefix(") T") } ?? true
      }
    }
  }

  /// - Parameter seconds: how long a slow machine takes for it. The test fails after ten times as long.
  static func wait(_ what: String, seconds: Double = 30, until condition: () throws -> Bool) throws {
    let end = Date().addingTimeInterval(seconds * 10)
    while try !condition() {
      try #require(Date() < end, "waited for: \(what)")
      usleep(5_000)
    }
  }
}
