import Foundation
import Testing

/// `sluice lint` opens what the pipeline names, and tells what it says against its options at their place.
struct LintOpeningTests {
  struct Wrong: CustomTestStringConvertible, Sendable {
    var lane = "use: http"
    var credential = "authorization: Bearer x"
    /// The last lines of the file; line 8 is the first of them.
    var stages = "stages: [{ use: size }]\n"
    var says: String
    var testDescription: String { says }
  }

  static let wrong = [
    Wrong(
      lane: "use: http\n    options: { hosts: [a.example], allow-private: 127.0.0.0/8 }",
      says: "pipeline.yaml:5:36: source 'downloads': allow-private: '127.0.0.0/8' is neither an address nor"),
    Wrong(
      lane: "use: http\n    options:\n      hosts: [\"http://a.example/\"]",
      says: "pipeline.yaml:6:7: source 'downloads': hosts: 'http://a.example/' is neither a host name"),
    Wrong(
      lane: "use: http\n    options: { response: xml }",
      says: "pipeline.yaml:5:16: source 'downloads': response: 'xml' is none of"),
    Wrong(
      credential: "Host: other.example",
      says: "pipeline.yaml:6:20: 'header' sets 'host', which belongs to the request itself"),
    Wrong(
      stages: """
        stages: [{ use: size }]
        channels:
          hook:
            use: webhook
            options: { secrets: whsec_x, url: "http://a.example/" }

        """, says: "pipeline.yaml:11:16: channel 'hook': secrets: "),
  ]

  private static func lint(_ one: Wrong, in folder: TemporaryFolder, _ words: [String] = []) throws
    -> SluiceCommand.Outcome
  {
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads:
          \(one.lane)
      credentials:
        files: { header: "\(one.credential)", hosts: [a.example] }
      \(one.stages)
      """)
    return try SluiceCommand.run(["lint"] + words, in: folder)
  }

  @Test(arguments: wrong) func whatAPluginSaysIsToldAtItsPlace(one: Wrong) throws {
    let folder = try TemporaryFolder()
    let outcome = try Self.lint(one, in: folder)
    #expect(outcome.status == 78)
    #expect(outcome.err.hasPrefix(one.says), "\(outcome.err)")
    let told = try Self.lint(one, in: folder, ["--format", "json"]).every(Printed.Diagnostic.self)
    #expect(told.count == 1 && told[0].line > 1 && told[0].column > 1, "\(told)")
  }

  @Test func aGoodSourceIsNamed() throws {
    let outcome = try Self.lint(Wrong(says: ""), in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.out == "pipeline.yaml: ok: stages size; links by http\n")
  }
}
