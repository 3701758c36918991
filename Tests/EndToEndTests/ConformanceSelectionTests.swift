import Foundation
import Testing

/// `stages check` ends soon, tells one cause once, and does only what it is asked to do.
struct ConformanceSelectionTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func check(_ words: [String] = []) throws -> (
    outcome: SluiceCommand.Outcome, checks: [Printed.Check]
  ) {
    let outcome = try SluiceCommand.run(
      ["stages", "check", "./libsluice-greeting.so", "--format", "json"] + words, in: folder)
    return (outcome, try outcome.every(Printed.Check.self))
  }

  private func build(_ statement: String) throws {
    let process = FixtureStages.greetingProcess
    try FixtureStages.brokenGreeting(in: folder, old: process, new: process + statement)
  }

  // MARK: What does not load

  @Test func anOptionThatAllowsNoValueIsRefused() throws {
    try FixtureStages.compile("empty-range", into: folder.path)
    let outcome = try SluiceCommand.run(["stages", "check", "./libsluice-empty-range.so"], in: folder)
    #expect(outcome.status != 0)
    let said = outcome.out + outcome.err
    #expect(said.contains("its option 'height' has the minimum 10 above its maximum 5"), "\(said)")
  }

  // MARK: One cause

  @Test func aHangCostsOneTimeOutAndTheRestIsNamedAsNotDone() throws {
    try build("for (;;) sleep(1000);")
    let (outcome, checks) = try check(["--timeout", "2s"])
    #expect(outcome.status == 1)
    #expect(checks.filter { $0.result == "failed" }.map(\.name) == ["empty"])
    let left = checks.filter { $0.message?.contains("it took too long in `empty`") == true }
    #expect(
      left.map(\.name) == ["names", "broken", "deterministic", "instances", "growth", "huge", "cancel"])
    #expect(left.allSatisfy { $0.result == "skipped" })
  }

  @Test func aStageThatHangsWhileItOpensCostsOneTimeOut() throws {
    try FixtureStages.brokenGreeting(
      in: folder, old: "state *made = malloc",
      new: "if (strlen(word) > 1000) for (;;) sleep(1000); state *made = malloc")
    let (_, checks) = try check()
    #expect(checks.filter { $0.result == "failed" }.map(\.name) == ["options"])
    #expect(checks.first { $0.name == "reopen" }?.message == "it took too long in `options`; mend that first")
  }

  @Test func aCrashIsToldOnce() throws {
    try build("abort();")
    let (_, checks) = try check()
    #expect(checks.filter { $0.result == "failed" }.map(\.name) == ["empty"])
    let others = checks.filter { $0.message?.contains("its worker ends as in `empty`") == true }
    #expect(others.count == 7, "\(others)")
  }

  @Test func twoCausesAreToldBoth() throws {
    try build(
      "if (!attachment->content_size) abort(); if (attachment->content_size > 1u << 31) __builtin_trap();")
    let (_, checks) = try check()
    #expect(checks.filter { $0.result == "failed" }.map(\.name) == ["empty", "huge"])
  }

  @Test func aForbiddenCallIsToldWhereItIsNotLeftOut() throws {
    try build("fopen(\"/etc/hostname\", \"r\");")
    #expect(try check().checks.filter { $0.result == "failed" }.map(\.name) == ["sandbox"])
    let (outcome, checks) = try check(["--only", "empty"])
    #expect(outcome.status == 1)
    #expect(checks.map(\.name) == ["empty"])
  }

  // MARK: The README

  @Test func aReadmeWithAReferenceThatIsOldFails() throws {
    try build("")
    let reference = try SluiceCommand.run(
      ["stages", "inspect", "./libsluice-greeting.so", "--format", "markdown"], in: folder
    ).out
    #expect(
      reference.hasPrefix(
        "`greeting` 0.1.0: Admits content that begins with a word. A stage of the line with"))
    for line in [
      "| `word` | text | `hello` | The word that content begins with. |",
      "| `greeting.word` | The word it begins with. |", "| `wrong-word` | It begins with something else. |",
    ] { #expect(reference.contains(line), "\(line)") }
    func readme(_ text: String) throws {
      try folder.write(
        "README.md",
        "# greeting\n<!-- sluice stages inspect --format markdown -->\n\(text)<!-- end of sluice stages inspect -->\n"
      )
    }
    try readme(reference)
    #expect(try check(["--only", "documentation"]).checks.map(\.result) == ["passed"])
    // Every name is there still, so that nothing else would notice.
    try readme(reference.replacingOccurrences(of: "begins with a word", with: "ends with a word"))
    let (outcome, checks) = try check(["--only", "documentation"])
    #expect(outcome.status == 1)
    #expect(checks.first?.remedy?.contains("--format markdown") == true)
  }

  // MARK: A part

  @Test func onlyTheNamedChecksAreDone() throws {
    try build("")
    let (outcome, checks) = try check(["--only", "growth,empty", "--only", "declared"])
    #expect(outcome.status == 0)
    #expect(checks.map(\.name) == ["empty", "growth", "declared"])
    #expect(checks.allSatisfy { $0.result == "passed" })
  }

  @Test func aCheckThatLooksAtOthersIsNotDoneAlone() throws {
    try build("return 42;")
    let (outcome, checks) = try check(["--only", "declared"])
    #expect(outcome.status == 0)
    #expect(checks.map(\.result) == ["skipped"])
  }

  @Test func aStageThatDoesNotOpenIsToldThoughThatCheckIsNotNamed() throws {
    try FixtureStages.brokenGreeting(
      in: folder, old: "state *made = malloc", new: "abort(); state *made = malloc")
    let (outcome, checks) = try check(["--only", "growth"])
    #expect(outcome.status == 1)
    #expect(checks.map(\.name) == ["open", "growth"])
    #expect(checks.map(\.result) == ["failed", "skipped"])
  }

  @Test func theFastOnesLeaveOutTheSlowOnesAndSayWhich() throws {
    try build("")
    let (outcome, checks) = try check(["--fast"])
    #expect(outcome.status == 0)
    let left = checks.filter { $0.message == "left out by --fast" }
    #expect(left.map(\.name) == ["broken", "growth", "huge", "cancel"])
    #expect(checks.count == 18)
    #expect(try check(["--fast", "--only", "growth"]).checks.map(\.result) == ["passed"])
  }

  @Test func aMisspeltNameIsSuggested() throws {
    let outcome = try SluiceCommand.run(["stages", "check", "size", "--only", "grwoth"], in: folder)
    #expect(outcome.status == 2)
    #expect(outcome.err.contains("did you mean 'growth'?"), "\(outcome.err)")
  }
}
