import Foundation
import Testing

/// `sluice deliveries`, `dead-letters list|retry|drop`, `reset channel:…`.
@Suite(.serialized)
struct DeliveryVerbTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b"] { try folder.write("in/\(name).txt", "the text of \(name)\n") }
  }

  /// A channel to where nobody listens.
  private func pipeline(attempts: Int) throws {
    let webhook =
      "{ use: webhook, options: { url: 'http://127.0.0.1:9/', secrets: ['\(Self.secret)'], allow-private: [127.0.0.1] },"
      + " retry: { attempts: \(attempts), backoff: 1h, max: 1h } }"
    try folder.write("pipeline.yaml", Pipelines.telling(channels: ["hook": webhook]))
  }

  private static let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func ingest() throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      [
        "ingest", "--home", "home", "--config", "pipeline.yaml", "--sender", "ann", "--participants",
        "ann,ben",
        "in",
      ], in: folder)
  }

  private func count(_ words: String...) throws -> Int {
    try SluiceCommand.run(words + ["--home", "home", "--format", "json"], in: folder).out.split(
      separator: "\n"
    )
    .count
  }

  @Test func deadLettersAreListedTriedAgainAndDropped() throws {
    try pipeline(attempts: 1)
    #expect(try ingest().status == 1)
    let listed = try sluice("dead-letters", "list")
    #expect(listed.out.split(separator: "\n").count == 2 && listed.out.contains("to ben"), "\(listed.err)")
    let id = String(listed.out.prefix(36))
    #expect(try sluice("dead-letters", "retry", "--channel", "other").out == "0 deliveries queued again\n")
    #expect(
      try sluice("dead-letters", "retry", "--dry-run").out == "2 deliveries would be queued again, at most\n")
    #expect(try sluice("dead-letters", "retry", id).out == "1 delivery queued again\n")
    #expect(try count("deliveries") == 1)
    // Their tries count anew: they are dead once more.
    #expect(try ingest().status == 1)
    #expect(try count("dead-letters", "list") == 2)
    #expect(try sluice("dead-letters", "drop").status == 2)
    #expect(try sluice("dead-letters", "drop", "--all").out == "2 deliveries dropped\n")
    #expect(try count("dead-letters", "list") == 0)
    #expect(try sluice("status").out.contains("dead letters 0"))
    #expect(try count("deliveries", "--status", "dropped") == 2)
    #expect(try sluice("dead-letters", "retry").out == "0 deliveries queued again\n")
    #expect(try sluice("dead-letters", "retry", id).out == "1 delivery queued again\n")
    #expect(try sluice("verify").status == 0)
  }

  @Test func whatWaitsIsShownHastenedAndDropped() throws {
    try pipeline(attempts: 5)
    #expect(try ingest().status == 75)
    let waiting = try sluice("deliveries")
    #expect(waiting.out.contains("tried 1 time, next at 20"), "\(waiting.out)")
    #expect(try sluice("retry", "--now").out == "channel:hook: what waits is due now\n")
    #expect(!(try sluice("deliveries").out.contains("next at")))
    #expect(try sluice("reset", "channel:hook").out == "2 deliveries dropped\n")
    #expect(try count("deliveries") == 0)
    #expect(try ingest().status == 0)
    #expect(try sluice("verify").status == 0)
  }
}
