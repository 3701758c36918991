import Foundation
import Testing

/// What a stage in Swift gets from the kit, tried on one that is built outside this project.
struct KitStageTests {
  private static let source = #"""
    import Glibc
    import StageKit

    struct Greeting: Stage {
      static let about = About(
        id: "greeting", version: "0.1.0", summary: "Tells its options.",
        keys: ["greeting.*": "An option, or what the host has."], codes: ["told-to": "It is told to."])

      static let ratio = Option<Double>.number("ratio", default: 0.5, help: "A number.")
      static let limit = Option<Double?>.number("limit", help: "A number that may be left out.")
      static let wait = Option<Int64?>.duration("wait", help: "A duration that may be left out.")
      static let isShort = Option<Bool?>.boolean("short", help: "True or false, or left out.")
      static let mistake = Option<String>.text("mistake", default: "none", help: "A mistake to make.")
        .among("none", "undeclared", "leak")
      static let undeclared = Option<String?>.text("undeclared", help: "It is not listed.")
      static let options: [any OptionDeclaration] = [ratio, limit, wait, isShort, mistake]

      private let values: [(String, String)]
      private let held: Held

      init(_ opening: Opening) {
        values = [
          ("ratio", "\(opening[Self.ratio])"), ("limit", opening[Self.limit].map { "\($0)" } ?? "none"),
          ("wait", opening[Self.wait].map { "\($0)" } ?? "none"),
          ("short", opening[Self.isShort].map { "\($0)" } ?? "none"),
          ("contract", Contract.version), ("host", "\(opening.hostMinor)"),
        ]
        held = Held()
        if opening[Self.mistake] == "undeclared" { _ = opening[Self.undeclared] }
        if opening[Self.mistake] == "leak" { _ = dup(2) }
      }

      func process(_ attachment: Attachment) throws(Outcome) {
        for (name, value) in values { attachment.annotate("greeting.\(name)", value) }
        attachment.log(.warning, "logged")
        let start = try attachment.read(5, at: 0)
        if start.elementsEqual("crash".utf8) { Self.crash(start) }
      }

      @inline(never) private static func crash(_ bytes: [UInt8]) {
        print(bytes[bytes.count * 2])  // here
      }
    }

    /// A descriptor that is closed with the stage.
    private final class Held {
      private let descriptor = dup(2)
      deinit { close(descriptor) }
    }

    private let exported = Exported(Greeting.self)

    @c(greeting_stage)
    public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }

    """#

  private static let plugin = "./.build/release/libsluice-greeting.so"

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let made = try Installation.shared().run(["stages", "new", "greeting"], in: folder)
    #expect(made.status == 0, "\(made.err)")
    try folder.write("greeting/Sources/Greeting.swift", Self.source)
    try folder.write("greeting/a.txt", "hello")
    try folder.write("greeting/crash.txt", "crash")
    let built = try Installation.shared().tool(
      "swift", ["build", "-c", "release", "-Xswiftc", "-g"], in: folder, below: "greeting")
    #expect(built.status == 0, "\(built.out)\(built.err)")
    #expect(!(built.out + built.err).contains("warning:"), "\(built.out)\(built.err)")
  }

  /// All in one, since to build the stage takes half a minute.
  @Test func aStageOfTheKitGetsWhatTheContractHas() throws {
    try optionsOfEachTypeAreRead()
    try theVersionsOfContractAndHostAreKnown()
    try anOptionThatIsNotListedIsNotRead()
    try whatADeinitGivesBackIsNoLeak()
    try aTrapIsToldWithItsFunctionAndLine()
  }

  private func run(_ words: [String]) throws -> SluiceCommand.Outcome {
    let installed = try Installation.shared()
    return try SluiceCommand.run(
      words, in: folder, environment: ["PATH": Installation.path], program: installed.program,
      below: "greeting")
  }

  private func stage(_ file: String, _ words: [String] = []) throws -> Printed.StageRun {
    try run(["stages", "run", Self.plugin, file, "--format", "json"] + words).only(Printed.StageRun.self)
  }

  private func optionsOfEachTypeAreRead() throws {
    let bare = try stage("a.txt").metadata
    #expect(bare["greeting.ratio"] == .text("0.5"))
    for name in ["limit", "wait", "short"] { #expect(bare["greeting.\(name)"] == .text("none"), "\(name)") }
    let set = try stage(
      "a.txt", ["--set", "ratio=0.25", "--set", "limit=-1e3", "--set", "wait=2s", "--set", "short=false"]
    ).metadata
    #expect(set["greeting.ratio"] == .text("0.25") && set["greeting.limit"] == .text("-1000.0"))
    #expect(set["greeting.wait"] == .text("2000") && set["greeting.short"] == .text("false"))
  }

  private func theVersionsOfContractAndHostAreKnown() throws {
    let metadata = try stage("a.txt").metadata
    let version = try run(["version", "--format", "json"]).only(Printed.Version.self).stageABI
    #expect(metadata["greeting.contract"] == .text(version))
    #expect(metadata["greeting.host"] == .text(String(version.split(separator: ".")[1])))
  }

  private func anOptionThatIsNotListedIsNotRead() throws {
    let outcome = try run(["stages", "run", Self.plugin, "a.txt", "--set", "mistake=undeclared"])
    #expect(outcome.status == 78)
    #expect(
      outcome.err.contains("reads the option 'undeclared', which its `options` do not list; list it there"),
      "\(outcome.err)")
  }

  private func whatADeinitGivesBackIsNoLeak() throws {
    let words = ["stages", "check", Self.plugin, "--only", "reopen", "--format", "json"]
    #expect(try run(words).every(Printed.Check.self).map(\.result) == ["passed"])
    let leaking = try run(words + ["--set", "mistake=leak"]).every(Printed.Check.self)
    #expect(leaking.map(\.result) == ["failed"])
    #expect(leaking.first?.remedy?.contains("in the `deinit` of a class that the stage holds") == true)
  }

  private func aTrapIsToldWithItsFunctionAndLine() throws {
    let message = try #require(try stage("crash.txt").message)
    let line =
      try #require(Self.source.components(separatedBy: "\n").firstIndex { $0.hasSuffix("// here") }) + 1
    #expect(message.contains("Greeting.swift:\(line)"), "\(message)")
    #expect(message.contains("Greeting.crash"), "\(message)")
    #expect(!message.contains("$s"), "\(message)")
  }
}
