import Foundation
import Glibc
import Testing

/// A folder with a pipeline that fetches, and the commands on it. Deleted when the test ends.
final class Home {
  struct Outcome {
    var status: Int32
    var out: String
    var errors: String
  }

  private let folder = NSTemporaryDirectory() + "sluice-lane-" + UUID().uuidString
  private var resident: Process?

  /// - Parameters:
  ///   - lane: more keys of the lane.
  ///   - credentials: the whole section.
  ///   - attempts: how often an attachment is tried.
  ///   - endpoint: an URL that all participants' events are posted to.
  init(lane: String = "", credentials: String = "", attempts: Int = 3, endpoint: String? = nil) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads:
          use: http
          min-free: 1MB
          retry: { attempts: 2, backoff: 50ms, max: 100ms }
          options: { allow-private: [127.0.0.1] }
          \(lane)
      \(credentials)
      retry: { attempts: \(attempts) }
      stages:
        - use: mime
        - use: store
          options: { path: "{fileName}-{sha256}" }
      \(endpoint.map(Self.telling) ?? "")
      """)
  }

  private static func telling(_ endpoint: String) -> String {
    let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
    return """
        - use: notify
          options: { to: everyone, channels: [hook] }
      channels:
        hook: { use: webhook, options: { url: "\(endpoint)", secrets: "\(secret)", allow-private: [127.0.0.1] } }
      """
  }

  deinit {
    if let resident, resident.isRunning { Glibc.kill(resident.processIdentifier, SIGKILL) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  func write(_ name: String, _ text: String) throws {
    let path = folder + "/" + name
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
  }

  @discardableResult
  func sluice(_ words: [String], input: String? = nil) throws -> Outcome {
    let process = process(words)
    let (out, errors) = (Pipe(), folder + "/" + UUID().uuidString)
    _ = FileManager.default.createFile(atPath: errors, contents: nil)
    process.standardOutput = out
    process.standardError = FileHandle(forWritingAtPath: errors)
    let words = Pipe()
    process.standardInput = words
    try process.run()
    words.fileHandleForWriting.write(Data((input ?? "").utf8))
    try words.fileHandleForWriting.close()
    let text = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, out: text,
      errors: (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "")
  }

  @discardableResult
  func sluice(_ words: String...) throws -> Outcome { try sluice(words) }

  /// Starts `sluice run`, and returns once it works.
  func run() throws {
    let process = process(["run", "--config", "pipeline.yaml"])
    _ = FileManager.default.createFile(atPath: folder + "/run.err", contents: nil)
    process.standardError = FileHandle(forWritingAtPath: folder + "/run.err")
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    resident = process
    try wait("the coordinator works") { self.said.contains("works the queue of") || !process.isRunning }
  }

  /// Ends it as the kernel does.
  func kill() {
    guard let resident else { return }
    Glibc.kill(resident.processIdentifier, SIGKILL)
    resident.waitUntilExit()
  }

  /// The workers of the coordinator.
  var workers: [pid_t] {
    guard let resident else { return [] }
    let pid = resident.processIdentifier
    let children = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    return (children ?? "").split(separator: " ").compactMap { pid_t($0) }
  }

  /// What `sluice run` has said.
  var said: String { (try? String(contentsOfFile: folder + "/run.err", encoding: .utf8)) ?? "" }

  /// Hands links over, each under a message of its own.
  func enqueue(_ links: [String], priority: Int = 0) throws {
    let lines = links.map { link in
      #"{"url":"\#(link)","conversationId":"c","messageId":"\#(UUID().uuidString)","senderId":"ann","priority":\#(priority)}"#
    }
    let outcome = try sluice(["enqueue", "--manifest", "-"], input: lines.joined(separator: "\n"))
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  /// The records of a command's output in JSON.
  func records(_ words: String...) throws -> [[String: Any]] {
    try sluice(words + ["--format", "json"]).out.split(separator: "\n").compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
  }

  /// How many attachments have a status.
  func count(_ status: String) throws -> Int {
    try records("list").count { $0["status"] as? String == status }
  }

  func wait(_ what: String, seconds: Double = 30, until condition: () throws -> Bool) throws {
    let end = Date().addingTimeInterval(seconds)
    while try !condition() {
      try #require(Date() < end, "waited for: \(what)\n\(said)")
      usleep(10_000)
    }
  }

  /// Starts a command, which goes on meanwhile.
  func start(_ words: [String], input: String) throws -> Process {
    let process = process(words)
    let words = Pipe()
    process.standardInput = words
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try process.run()
    words.fileHandleForWriting.write(Data(input.utf8))
    try words.fileHandleForWriting.close()
    return process
  }

  private func process(_ words: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: SourceWorker.binaries + "/sluice")
    process.arguments = words
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = ProcessInfo.processInfo.environment.merging(["SLUICE_HOME": folder + "/home"]) {
      $1
    }
    return process
  }
}
