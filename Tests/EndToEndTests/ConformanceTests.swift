import Foundation
import Testing

/// `stages check`: every existing plugin passes, and a broken one fails in the expected check.
struct ConformanceTests {
  @Test(arguments: [
    ["digest"], ["mime"], ["size"], ["pdf"], ["store", "--set", "path={sha256}"],
    ["notify", "--set", "channels=events"],
    ["jsonl", "--set", "path=events.jsonl"], ["text"], ["image"], ["archive"], ["mail"],
    ["scan", "--set", "address=tcp:127.0.0.1:9"],
  ])
  func everyPluginPasses(words: [String]) throws {
    let outcome = try SluiceCommand.run(["stages", "check"] + words, in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
  }

  @Test func aWebhookThatTakesEventsPasses() throws {
    let receiver = try WebhookReceiver()
    let outcome = try Self.checkWebhook(receiver.url)
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
    #expect(receiver.requests.count > 100)
  }

  /// A channel that refuses each event in good order would pass every other check.
  @Test func aChannelThatDeliversNothingFails() throws {
    let receiver = try WebhookReceiver([.status(500)])
    let outcome = try Self.checkWebhook(receiver.url)
    #expect(outcome.status == 1)
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    #expect(failed.map(\.name) == ["passes"])
    #expect(failed.first?.message?.contains("deliveries succeeded: retry") == true, "\(outcome.out)")
  }

  private static func checkWebhook(_ url: String) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      [
        "stages", "check", "webhook", "--set", "url=\(url)", "--set", "allow-private=127.0.0.1", "--set",
        secret,
        "--format", "json",
      ], in: TemporaryFolder())
  }

  private static let secret = "secrets=whsec_" + String(repeating: "QUJD", count: 10)

  /// A mistake: the text to replace, its replacement, and the check that must fail.
  struct Break: CustomTestStringConvertible, Sendable {
    var check: String
    var old: String
    var new: String
    var testDescription: String { "\(check): \(new.prefix(60))" }
  }

  static let breaks = [
    Break(check: "description", old: ".version = \"0.1.0\"", new: ".version = \"one\""),
    Break(check: "description", old: "with a word.\",\n    .options", new: "with a word\",\n    .options"),
    Break(check: "description", old: ".fallback = \"hello\"", new: ".fallback = \"hello\", .required = 1"),
    Break(check: "documentation", old: "{\"unreadable\"", new: "{\"unreadably\""),
    Break(
      check: "abi", old: "(void)host_abi_major;",
      new: "static sluice_stage other; other = stage; other.abi_major = host_abi_major; return &other;"),
    Break(check: "abi", old: "(void)host_abi_major;", new: "if (host_abi_major != 1) abort();"),
    Break(check: "open", old: "state *made = malloc", new: "start_thread(); state *made = malloc"),
    Break(
      check: "options", old: "state *made = malloc",
      new: "if (strlen(word) > 1000) abort(); state *made = malloc"),
    Break(check: "options", old: "\"option 'word' is empty; give it a word\"", new: "NULL"),
    Break(check: "reopen", old: "{ free(instance); }", new: "{ (void)instance; }"),
    Break(check: "reopen", old: "state *made = malloc", new: "dup(2); state *made = malloc"),
    Break(check: "empty", old: process, new: process + "if (attachment->content_size == 0) abort();"),
    Break(
      check: "huge", old: process, new: process + "if (attachment->content_size > 1u << 31) abort();"),
    Break(check: "names", old: process, new: process + "if (strlen(attachment->file_name) > 200) abort();"),
    Break(
      check: "broken", old: process,
      new: process + "if (attachment->content_size > 2000 && attachment->content_size < 65536) abort();"),
    Break(
      check: "deterministic", old: process,
      new: process
        + "struct timespec now; clock_gettime(CLOCK_REALTIME, &now); if (now.tv_nsec & 1024) return SLUICE_PASS;"
    ),
    Break(
      check: "instances", old: process,
      new: process
        + "static int calls; self->host->annotate_integer(call, \"greeting.word\", calls++);return SLUICE_PASS;"
    ),
    Break(
      check: "cancel", old: process,
      new: process
        + "if (attachment->attempt > 1) { self->host->explain(call, \"wrong-word\", \"no\"); return SLUICE_FAIL; }"
    ),
    Break(
      check: "growth", old: process,
      new: process + "static void *volatile last; last = malloc(64 << 10); memset(last, 1, 64 << 10);"),
    Break(check: "growth", old: process, new: process + "dup(2);"),
    Break(check: "sandbox", old: process, new: process + "fopen(\"/etc/hostname\", \"r\");"),
    Break(check: "declared", old: "\"greeting.word\", self->word", new: "\"other.word\", self->word"),
    Break(check: "declared", old: "call, \"wrong-word\", sentence", new: "call, \"other-word\", sentence"),
    Break(check: "load", old: ".type = SLUICE_TEXT", new: ".type = 99"),
    Break(
      check: "description", old: ".fallback = \"hello\"",
      new: ".fallback = \"hello\", .choices = (const char *const[]){\"a\", \"b\", NULL}"),
    Break(
      check: "description",
      old: ".type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = \"word\", .fallback = \"hello\"",
      new: number + ".fallback = \"10\", .minimum = 1, .maximum = 9"),
    Break(
      check: "description",
      old: ".type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = \"word\", .fallback = \"hello\"",
      new: number + ".fallback = \"8\", .minimum = 9, .maximum = 9"),
    Break(
      check: "description",
      old: ".type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = \"word\", .fallback = \"hello\"",
      new: number + ".fallback = \"ten\""),
    Break(check: "declared", old: "\"word\") == 0", new: "\"words\") == 0"),
    Break(
      check: "declared", old: ".option_count = sizeof options / sizeof *options", new: ".option_count = 0"),
    Break(check: "declared", old: process, new: process + "self->host->produce(call);"),
    Break(check: "declared", old: process, new: process + "return 42;"),
    Break(
      check: "empty", old: process,
      new: process
        + "if (!attachment->content_size) { self->host->explain(call, \"unreadable\", \"no\"); return SLUICE_RETRY; }"
    ),
    Break(check: "stdout", old: process, new: process + "puts(\"hello\"); fflush(stdout);"),
  ]

  private static let process = FixtureStages.greetingProcess

  private static let number = ".type = SLUICE_INTEGER, .shapes = SLUICE_ONE, .name = \"word\", "

  @Test(arguments: breaks)
  func aBrokenStageFailsItsCheck(_ change: Break) throws {
    let folder = try TemporaryFolder()
    try FixtureStages.brokenGreeting(in: folder, old: change.old, new: change.new)
    try folder.write(
      "README.md", "`word` `greeting.word` `wrong-word` `unreadable`")
    let outcome = try SluiceCommand.run(
      ["stages", "check", "./libsluice-greeting.so", "--format", "json"], in: folder)
    #expect(outcome.status == 1, "\(outcome.err)")
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    let check = try #require(failed.first { $0.name == change.check }, "failed: \(failed.map(\.name))")
    #expect(check.remedy != nil)
    // What depends on the time of day differs in every check that compares.
    if change.check == "deterministic" { return }
    #expect(failed.count == 1, "one cause is told once: \(failed.map(\.name))")
  }
}
