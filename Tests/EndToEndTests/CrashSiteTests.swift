import Foundation
import Testing

/// A crash of a stage is told with its function and line, by signals, forbidden calls and a lack of memory.
struct CrashSiteTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let helpers = """
    #include <signal.h>
    __attribute__((noinline)) static int fall(const char *p) {
      if (!p) { volatile int *q = (int *)16; *q = 1; }
      return 3;
    }
    __attribute__((noinline)) static void give_up(void) {
      abort();
    }
    __attribute__((noinline)) static int deep(volatile char *above) {
      volatile char here[4096]; here[0] = above[0]; return here[0] ? 0 : deep(here) + here[0];
    }
    __attribute__((noinline)) static void look(void) {
      FILE *volatile file = fopen("/etc/passwd", "r"); (void)file;
    }
    __attribute__((noinline)) static void *hoard(void) {
      void *volatile much = malloc(1ul << 40); return much;
    }
    __attribute__((noinline)) static void smash(void) {
      char some[64]; char *volatile start = some; memset(start - 64, 0, 8192); *(volatile int *)16 = 1;
    }

    """

  /// Builds the template with these statements at the beginning of `process`, and runs it on a file.
  private func run(
    _ act: String, _ flags: [String] = ["-O1", "-g"], _ words: [String] = [], path: String = Installation.path
  ) throws -> Printed.StageRun {
    try FixtureStages.brokenGreeting(
      in: folder, old: FixtureStages.greetingProcess, new: FixtureStages.greetingProcess + "\(act);\n",
      helpers: Self.helpers, flags)
    try folder.write("a.txt", "hello")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "./libsluice-greeting.so", "a.txt", "--format", "json"] + words, in: folder,
      environment: ["PATH": path])
    #expect(outcome.status == 1)
    return try outcome.only(Printed.StageRun.self)
  }

  /// The number of the first line of the source that holds a text.
  private func line(of text: String) throws -> Int {
    let lines = try folder.read("greeting.c").components(separatedBy: "\n")
    return try #require(lines.firstIndex { $0.contains(text) }) + 1
  }

  @Test(arguments: [
    ("fall(0)", "crashed: SIGSEGV, in fall", "*q = 1"),
    ("give_up()", "crashed: SIGABRT, in give_up", "abort();"),
    ("char zero = 0; return deep(&zero)", "crashed: SIGSEGV, in deep", "here[0] = above[0]"),
    ("raise(SIGFPE)", "crashed: SIGFPE, in process", "raise(SIGFPE)"),
    ("__builtin_trap()", "crashed: SIGILL, in process", "__builtin_trap()"),
    ("look()", "with capability content, in look", "fopen("),
    ("hoard()", "allows 256MB in all, in hoard", "malloc(1ul"),
  ])
  func functionAndLineAreTold(act: String, says: String, source: String) throws {
    let message = try #require(try run(act).message)
    let line = try line(of: source)
    #expect(message.contains("\(says) (greeting.c:\(line)), libsluice-greeting.so+0x"), "\(message)")
  }

  @Test func withoutDebugInformationTheFunctionIsTold() throws {
    let message = try #require(try run("fall(0)", ["-O1"]).message)
    #expect(message.contains("in fall, libsluice-greeting.so+0x"), "\(message)")
    #expect(message.hasSuffix("; built with -g it has its line"))
  }

  @Test func withoutAToolTheFunctionIsTold() throws {
    let message = try #require(try run("give_up()", path: "/nowhere").message)
    #expect(message.contains("in give_up, libsluice-greeting.so+0x"), "\(message)")
    #expect(message.hasSuffix("; with binutils or llvm installed it has its line"))
  }

  @Test func aStrippedPluginHasItsOffset() throws {
    let message = try #require(try run("fall(0)", ["-O1", "-s"]).message)
    #expect(message.contains("crashed: SIGSEGV, at libsluice-greeting.so+0x"), "\(message)")
  }

  /// The unwinder may crash as well. That the stage crashed is told in any case.
  @Test func aStackThatIsOverwrittenDoesNotHideTheCrash() throws {
    let result = try run("smash()", ["-O1", "-g", "-fno-stack-protector"])
    #expect(result.code == "crashed")
    #expect(result.message?.hasPrefix("crashed: SIG") == true, "\(result.message ?? "")")
  }

  @Test func theTraceShowsTheCallsThatLedThere() throws {
    let trace = try #require(try run("give_up()", ["-O1", "-g"], ["--trace"]).trace)
    let places = trace.filter { $0.call == "at" }.map(\.text)
    #expect(places.last?.hasPrefix("process (greeting.c:") == true, "\(places)")
    #expect(places.dropLast().last?.hasPrefix("give_up (greeting.c:") == true, "\(places)")
    #expect(places.first?.hasPrefix("libc.so.6+0x") == true, "\(places)")
  }

  /// One signal at two places is two causes.
  @Test func theCheckTellsCrashesApartByTheirPlace() throws {
    try FixtureStages.brokenGreeting(
      in: folder, old: FixtureStages.greetingProcess,
      new: FixtureStages.greetingProcess
        + "if (attachment->content_size == 0) fall(0);\nif (attachment->content_size > 1u << 31) smash();\n",
      helpers: Self.helpers, ["-O1", "-g"])
    let outcome = try SluiceCommand.run(
      ["stages", "check", "./libsluice-greeting.so", "--format", "json"], in: folder,
      environment: ["PATH": Installation.path])
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    #expect(failed.map(\.name) == ["empty", "huge"])
    #expect(failed.first?.message?.contains("in fall (greeting.c:") == true, "\(failed)")
  }

  /// An ingest reads no plugin's symbols. Its message has what a tool needs.
  @Test func anIngestTellsTheOffset() throws {
    let inbox = try Inbox()
    try inbox.pipeline("on-crash: reject")
    try inbox.add("a", "misbehave segfault\n")
    let record = try inbox.run().record("a")
    #expect(
      record.message.contains(/crashed: SIGSEGV at libsluice-misbehave\.so\+0x[0-9a-f]+/), "\(record.message)"
    )
  }
}
