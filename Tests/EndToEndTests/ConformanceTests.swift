import Foundation
import Testing

/// `stages check`: every existing plugin passes, and a broken one fails in the expected check.
struct ConformanceTests {
  @Test(arguments: [
    ["digest"], ["mime"], ["size"], ["pdf"], ["store", "--set", "path={sha256}"],
    ["notify", "--set", "channels=events"],
    ["jsonl", "--set", "path=events.jsonl"], ["text"], ["image"],
    ["webhook", "--set", "url=https://127.0.0.1:9/", "--set", "allow-private=127.0.0.1", "--set", secret],
    ["scan", "--set", "address=tcp:127.0.0.1:9"],
  ])
  func everyPluginPasses(words: [String]) throws {
    let outcome = try SluiceCommand.run(["stages", "check"] + words, in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
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
    Break(check: "stdout", old: process, new: process + "puts(\"hello\"); fflush(stdout);"),
  ]

  private static let process = "char start[4096], sentence[512];\n"

  @Test(arguments: breaks)
  func aBrokenStageFailsItsCheck(_ change: Break) throws {
    let folder = try TemporaryFolder()
    let source = try String(
      contentsOfFile: SluiceCommand.projectFolder + "/Templates/c/content/greeting.c", encoding: .utf8)
    #expect(source.components(separatedBy: change.old).count == 2, "'\(change.old)' stands there once")
    let helpers = """
      #include <pthread.h>
      #include <time.h>
      static void *rest(void *nothing) { sleep(1000); return nothing; }
      __attribute__((unused)) static void start_thread(void) { pthread_t thread; pthread_create(&thread, NULL, rest, NULL); }

      """
    let broken = source.replacingOccurrences(of: change.old, with: change.new)
      .replacingOccurrences(of: "#include <sluice/stage.h>\n", with: "#include <sluice/stage.h>\n" + helpers)
    let file = try folder.write("greeting.c", broken)
    let status = try FixtureStages.run(
      FixtureStages.compiler,
      [
        "-shared", "-fPIC", "-O1", "-w", "-I",
        SluiceCommand.projectFolder + "/Sources/Contract/CStage/include", file,
        "-o",
        folder.path + "/libsluice-greeting.so",
      ])
    #expect(status == 0)
    try folder.write(
      "README.md", "`word` `greeting.word` `wrong-word` `unreadable`")
    let outcome = try SluiceCommand.run(
      ["stages", "check", "./libsluice-greeting.so", "--format", "json"], in: folder)
    #expect(outcome.status == 1, "\(outcome.err)")
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    let check = try #require(failed.first { $0.name == change.check }, "failed: \(failed.map(\.name))")
    #expect(check.remedy != nil)
  }
}
