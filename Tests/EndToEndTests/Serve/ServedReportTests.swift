import Foundation
import Testing

/// The figures over HTTP are those of the command.
struct ServedReportTests {
  /// What a form has and the other has not.
  private static let own: Set<String> = ["record", "home", "madeAt", "more"]

  private func figures(_ json: JSON) -> [String: JSON] {
    json.members.filter { !Self.own.contains($0.key) }
  }

  @Test func theFiguresAreThoseOfTheCommand() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    for number in 0..<5 { try folder.write("in/\(number).txt", "text \(number / 2)\n") }
    try folder.write("in/empty.txt", "")
    let ingest = try SluiceCommand.run(
      ["ingest", "--home", "home", "--config", "pipeline.yaml", "--conversation", "c1", "in"], in: folder)
    try #require(ingest.status == 1, "\(ingest.err)")
    let served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    let service = try served.token("shop", "--role", "service")
    for (query, options) in [
      ("", []), ("?status=rejected,completed", ["--status", "rejected,completed"]),
      ("?code=empty", ["--code", "empty"]), ("?type=text/*&limit=3", ["--type", "text/*", "--limit", "3"]),
      ("?code=empty,too-large", ["--code", "empty,too-large"]), ("?message=none", ["--message", "none"]),
      ("?conversation=other", ["--conversation", "other"]),
    ] {
      let answer = try served.ask("GET", "/v1/report\(query)", token: service)
      #expect(answer.status == 200)
      let printed = try SluiceCommand.run(
        ["report", "--home", "home", "--format", "json"] + options, in: folder)
      let (one, other) = (figures(try JSON(answer.text)), figures(try JSON(printed.out)))
      #expect(one == other && one.count > 10, "\(query): \(answer.text) \(printed.out)")
    }
    let some = try JSON(served.ask("GET", "/v1/report?limit=2", token: service).text)
    #expect(some["count"] == .number(2) && some["more"] == .boolean(true))
    let all = try JSON(served.ask("GET", "/v1/report", token: service).text)
    #expect(all["count"] == .number(6) && all["more"] == .boolean(false) && all["home"] == .null)
    #expect(try served.ask("GET", "/v1/report", token: try served.token("ann")).status == 403)
    #expect(served.stop() == 0)
  }
}
