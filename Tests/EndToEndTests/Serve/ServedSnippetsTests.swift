import Foundation
import Testing

/// The clients on the page about HTTP do what the page says, each as it stands there.
@Suite(.serialized)
struct ServedSnippetsTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try Samples.data("report.pdf").write(to: URL(fileURLWithPath: folder.path + "/report.pdf"))
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { upload-draft: true }\n")
  }

  private struct List: Decodable {
    struct Attachment: Decodable {
      var fileName: String
      var conversationId: String
      var status: String
      var sizeBytes: Int?
    }
    var attachments: [Attachment]
  }

  /// The page, as it is for this server.
  private static func page(_ served: ServedHome) throws -> [String] {
    let path = SluiceCommand.projectFolder + "/docs/http.md"
    return try String(contentsOfFile: path, encoding: .utf8)
      .replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(served.port)")
      .components(separatedBy: "\n")
  }

  /// Waits until so many attachments are completed, each with the content of the file.
  private func expect(_ count: Int, _ served: ServedHome, _ token: String) throws {
    let size = try Samples.data("report.pdf").count
    try Resident.wait("\(count) are completed") {
      let list = try served.ask("GET", "/v1/attachments", token: token).decoded(List.self).attachments
      return list.count == count
        && list.allSatisfy {
          $0.status == "completed" && $0.fileName == "report.pdf" && $0.conversationId == "c1"
            && $0.sizeBytes == size
        }
    }
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "skipped: no curl here"))
  func eachCommandOfCurlSendsTheFile() throws {
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("ann")
    var commands: [String] = []
    for line in try Self.page(served) {
      if line.hasPrefix("    curl ") {
        commands.append(line)
      } else if let last = commands.last, last.hasSuffix("\\"), line.hasPrefix("    ") {
        commands[commands.count - 1] = last + "\n" + line
      }
    }
    #expect(commands.count == 4)
    for (index, command) in commands.enumerated() {
      let status = try FixtureStages.run(
        "/bin/sh",
        ["-c", "cd \(folder.path) && TOKEN=\(token) && \(command) --fail --silent --output answer"])
      #expect(status == 0, "\(command)")
      try expect(index + 1, served, token)
    }
    #expect(served.stop() == 0)
  }

  @Test(.enabled(if: TuspyTests.isThere, "skipped: no python3-tuspy here")) func thePythonSendsTheFile()
    throws
  {
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("ann")
    let lines = try Self.page(served)
    let start = try #require(lines.firstIndex(of: "```python"))
    let program = ["token = '\(token)'"] + lines[(start + 1)...].prefix { $0 != "```" }
    try folder.write("client.py", program.joined(separator: "\n") + "\n")
    let status = try FixtureStages.run(
      "/bin/sh", ["-c", "cd \(folder.path) && exec /usr/bin/python3 client.py"])
    #expect(status == 0)
    try expect(1, served, token)
    #expect(served.stop() == 0)
  }
}
