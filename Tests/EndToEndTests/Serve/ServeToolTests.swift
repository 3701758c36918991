import Foundation
import Glibc
import Testing

/// What other people's programs say of the server, where they are installed.
@Suite(.serialized)
struct ServeToolTests {
  private static func has(_ program: String) -> Bool { access(program, X_OK) == 0 }

  private static let promtool = "/usr/bin/promtool"
  private static let slowHTTPTest = "/usr/bin/slowhttptest"

  @Test(.enabled(if: has(promtool), "skipped: there is no promtool; Debian has it in prometheus"))
  func promtoolFindsNoFaultInTheFigures() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    let served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    let admin = try served.token("root", "--role", "admin")
    _ = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: admin, body: Data("a text\n".utf8))
    let figures = try served.ask("GET", "/metrics", token: admin)
    let checked = try SluiceCommand.run(
      ["check", "metrics"], in: folder, input: figures.text, program: Self.promtool)
    #expect(figures.status == 200 && checked.status == 0, "\(checked.out) \(checked.err)")
    #expect(served.stop() == 0)
  }

  /// Slow heads, slow bodies, and answers that are read slowly: somebody else is answered within a second all the time.
  @Test(
    .enabled(if: Soak.isOn, Soak.skipped),
    .enabled(if: has(slowHTTPTest), "skipped: there is no slowhttptest; Debian has it in a package"),
    arguments: ["-H", "-B", "-X"])
  func slowClientsHoldUpNobody(kind: String) throws {
    let folder = try TemporaryFolder()
    let served = try ServedHome(folder)
    let url = "http://127.0.0.1:\(served.port)/openapi.json"
    let attack = try SluiceCommand.start(
      [kind, "-c", "150", "-r", "100", "-l", "25", "-i", "3", "-u", url], in: folder,
      out: folder.path + "/slow.out", err: folder.path + "/slow.err", program: Self.slowHTTPTest)
    var tries = 0
    while attack.isRunning {
      let began = Date()
      #expect(try served.ask("GET", "/readyz").status == 200)
      #expect(Date().timeIntervalSince(began) < 1)
      tries += 1
      usleep(100_000)
    }
    // Bodies that nobody asked for are answered early, and the attack is over soon.
    #expect(tries > 10)
    Soak.row("asked while slowhttptest attacks", tries: tries, failures: 0)
    #expect(served.stop() == 0)
  }
}
