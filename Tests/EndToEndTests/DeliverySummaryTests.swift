import Foundation
import Testing

/// The summary of pending deliveries after an ingest: they are counted, and an exit code tells that some are
/// left.
@Suite(.serialized)
struct DeliverySummaryTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for number in 0..<3 { try folder.write("in/\(number).txt", "text \(number)\n") }
  }

  private func pipeline(_ url: String, retry: String = "", channelRetry: String = "") throws {
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - { use: mime, options: { allow: ["*/*"] } }
        - { use: store, options: { path: "{attachmentId}" } }
        - { use: notify, options: { to: everyone, channels: [hook] } }
      channels:
        hook:
          use: webhook
          options: { url: "\(url)", secrets: "\(WebhookTests.secret)", allow-private: 127.0.0.1 }
      \(channelRetry)
      \(retry)
      """)
  }

  private func ingest(_ options: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      ["ingest", "--home", "home", "--sender", "ann", "--participants", "ann", "in"] + options, in: folder)
  }

  @Test func deliveriesThatWereMadeAreCounted() throws {
    let receiver = try WebhookReceiver()
    try pipeline(receiver.url)
    let outcome = try ingest()
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.out.contains("\n3 deliveries: 3 delivered\n"), "\(outcome.out)")
  }

  @Test func deliveriesThatAreOwedEndWithTryAgainAndTellWhen() throws {
    let receiver = try WebhookReceiver([.status(500)])
    try pipeline(receiver.url)
    let outcome = try ingest("--format", "json")
    #expect(outcome.status == 75, "\(outcome.err)")
    let summary = try outcome.summary
    #expect(summary.completed == 3)
    #expect(summary.deliveries.delivered == 0)
    #expect(summary.deliveries.scheduled == 3)
    #expect(summary.deliveries.dead == 0)
    let next = try #require(summary.deliveries.nextAt)
    #expect(next.hasSuffix("Z") && next.hasPrefix("20"))
    #expect(
      outcome.err.contains("3 deliveries owed, the next at \(next); run the same command again"),
      "\(outcome.err)")
    let text = try ingest()
    #expect(text.status == 75)
    #expect(text.out.contains("3 deliveries: 0 delivered, 3 scheduled (the next at 20"), "\(text.out)")
  }

  @Test func anIngestThatWaitsMakesThemWhenTheyAreDue() throws {
    let receiver = try WebhookReceiver([.status(500), .status(500), .status(500), .status(204)])
    try pipeline(receiver.url, retry: "retry: { attempts: 5, backoff: 300ms, max: 1s }")
    let outcome = try ingest("--wait-deliveries", "30s", "--format", "json")
    #expect(outcome.status == 0, "\(outcome.err)")
    let deliveries = try outcome.summary.deliveries
    #expect(deliveries.delivered == 3)
    #expect(deliveries.scheduled == 0)
    #expect(receiver.requests.count == 6)
  }

  @Test func anIngestDoesNotWaitForWhatIsDueLaterThanItMayWait() throws {
    let receiver = try WebhookReceiver([.status(500)])
    try pipeline(receiver.url, retry: "retry: { attempts: 5, backoff: 30m, max: 1h }")
    let before = Date()
    let outcome = try ingest("--wait-deliveries", "3m")
    #expect(outcome.status == 75)
    #expect(
      Date().timeIntervalSince(before) < 100, "half an hour is more than three minutes: it need not wait")
    let wrong = try ingest("--wait-deliveries", "5")
    #expect(wrong.status == 2)
    #expect(wrong.err.contains("is a duration such as 30s, 5m or 2h, not '5'"), "\(wrong.err)")
  }

  @Test(arguments: [true, false]) func retrySaysWhenADeliveryIsGivenUp(inChannel: Bool) throws {
    let receiver = try WebhookReceiver([.status(500)])
    let retry = "retry: { attempts: 2, backoff: 100ms, max: 200ms }"
    try pipeline(receiver.url, retry: inChannel ? "" : retry, channelRetry: inChannel ? "    \(retry)" : "")
    let outcome = try ingest("--wait-deliveries", "20s", "--format", "json")
    #expect(outcome.status == 1, "what cannot be told is told by the exit code: \(outcome.err)")
    #expect(try outcome.summary.deliveries.dead == 3)
    #expect(receiver.requests.count == 6)
    let again = try ingest()
    #expect(again.status == 0, "it is given up for good: \(again.err)")
  }

  @Test func aChannelThatIsNoLongerThereIsNamed() throws {
    let receiver = try WebhookReceiver([.status(500)])
    try pipeline(receiver.url)
    #expect(try ingest().status == 75)
    try folder.write("pipeline.yaml", Pipelines.open)
    let outcome = try ingest()
    #expect(outcome.status == 0, "nothing this pipeline could do is left: \(outcome.err)")
    #expect(
      outcome.err.contains("3 deliveries owed on channel 'hook', which this pipeline does not have"),
      "\(outcome.err)")
  }
}
