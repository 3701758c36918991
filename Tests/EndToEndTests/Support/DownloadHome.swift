import Foundation
import Testing

/// A home with a lane for downloads, and what its commands say.
struct DownloadHome {
  let folder: TemporaryFolder

  struct Download: Decodable {
    var state: String
    var bytes: Int
    var key: Int
  }

  /// - Parameters:
  ///   - lane: further settings of the lane, a line each.
  ///   - addresses: private ones that may be connected to.
  init(_ lane: [String] = [], addresses: [String] = ["127.0.0.1"], minFree: String = "1MB") throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads:
          use: http
          min-free: \(minFree)
          max-size: 200MB
          options: { allow-private: [\(addresses.joined(separator: ", "))] }
      \(lane.map { "    \($0)\n" }.joined())stages:
        - use: mime
        - use: store
          options: { path: "{sha256}" }
      """)
  }

  @discardableResult
  func sluice(_ words: String...) throws -> SluiceCommand.Outcome { try sluice(words) }

  @discardableResult
  func sluice(_ words: [String]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  /// Queues links; each is a message of its own, with its path as its name.
  ///
  /// - Parameter base: scheme, host and port.
  func enqueue(_ paths: [String], at base: String) throws {
    let lines = paths.map {
      #"{"url":"\#(base)\#($0)","conversationId":"c","messageId":"\#($0)","senderId":"ann","fileName":"\#($0)"}"#
    }
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--manifest", "-"], in: folder, input: lines.joined(separator: "\n"))
    #expect(outcome.status == 0, "\(outcome.err)")
  }

  func downloads(_ states: String = "waiting,scheduled,running,failed,stopped") throws -> [Download] {
    try sluice("downloads", "--state", states, "--format", "json").out.split(separator: "\n").map {
      try JSONDecoder().decode(Download.self, from: Data($0.utf8))
    }
  }

  func listed() throws -> [Printed.Attachment] {
    try sluice("list", "--format", "json").records(Printed.Attachment.self)
  }

  /// Waits until these have ended, and checks that each is completed with the right content. Returns how many are not.
  @discardableResult
  func checkCompleted(_ paths: [String], seconds: Double = 60) throws -> Int {
    try Resident.wait("\(paths.count) have ended", seconds: seconds) {
      try listed().count { paths.contains($0.fileName) && $0.status != "queued" } == paths.count
    }
    let all = try listed().filter { paths.contains($0.fileName) }
    let wrong = all.filter {
      $0.status != "completed" || $0.sha256 != ContentServer.sha256(of: $0.fileName)
    }
    #expect(wrong.isEmpty, "\(wrong.map { "\($0.status) \($0.reason?.message ?? "")" })")
    return wrong.count + paths.count - all.count
  }

  /// Bytes of the files of these transfers.
  func partialBytes(of keys: Set<Int>) -> Int {
    partials().reduce(0) { keys.contains($1.key) ? $0 + Int($1.facts.st_size) : $0 }
  }

  /// The files of transfers, by their keys.
  func partials() -> [(key: Int, facts: stat)] {
    let path = folder.path + "/home/downloads"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.compactMap { name in
      var facts = stat()
      guard name.hasSuffix(".part"), let key = Int(name.dropLast(5)), stat("\(path)/\(name)", &facts) == 0
      else { return nil }
      return (key, facts)
    }
  }
}
