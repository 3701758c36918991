import Foundation
import Testing

/// A plugin can start no process at any time, and nothing outlives a worker: a process started in a library's
/// constructor would be outside the sandbox.
@Suite(.serialized)
struct ProcessTests {
  struct Start: Sendable, CustomTestStringConvertible {
    var way: String
    var place: String
    /// The call that must end the worker; `nil`: unknown, because glibc blocks the signal that would tell.
    var call: String?
    var testDescription: String { "\(way) \(place)" }
  }

  static let starts = ["IN_CONSTRUCTOR", "IN_OPEN"].flatMap { (place: String) -> [Start] in
    let calls: [(String, String?)] = [
      ("FORK", "clone"), ("VFORK", "vfork"), ("CLONE", "clone"), ("CLONE_TO_PARENT", "clone"), ("SPAWN", nil),
      ("SYSTEM", nil), ("EXEC", "execve"),
    ]
    return calls.map { Start(way: $0.0, place: place, call: $0.1) }
  }

  private func folder(_ way: String, _ place: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write(
      "pipeline.yaml", Pipelines.only("start", plugins: ".", more: "retry: { attempts: 1 }"))
    try FixtureStages.compile(
      "start", into: folder.path, ["-DWAY=\(way)", "-D\(place)", "-DWITNESS=\"\(folder.path)/witness\""])
    return folder
  }

  @Test(arguments: starts) func aPluginThatStartsAProcessIsRefusedAndNothingIsLeft(start: Start) throws {
    let folder = try folder(start.way, start.place)
    for arguments in [
      ["lint"], ["ingest", "--home", "home", "in"], ["stages", "run", "./libsluice-start.so", "in/a"],
    ] {
      let outcome = try SluiceCommand.run(arguments, in: folder)
      // lint does not open a stage whose opening could have effects.
      if arguments == ["lint"] && start.place == "IN_OPEN" && outcome.status == 0 { continue }
      #expect(
        [1, 78].contains(outcome.status), "\(arguments): \(outcome.status) \(outcome.out) \(outcome.err)")
      let said = outcome.err + outcome.out
      guard let call = start.call else {
        #expect(said.contains("does not allow a system call it made"), "\(arguments): \(said)")
        continue
      }
      #expect(said.contains("does not allow \(call)(2)"), "\(arguments): \(said)")
      #expect(said.contains("a stage starts no process"), "\(arguments): \(said)")
    }
    usleep(200_000)
    let isHeld = !FileManager.default.fileExists(atPath: folder.path + "/witness")
    #expect(isHeld, "something lived")
    let name = "\(start.way.lowercased()) \(start.place == "IN_OPEN" ? "open" : "loading")"
    AttackTable.add(name, .content, isHeld: isHeld, "the plugin is refused; nothing it started lives")
  }

  /// glibc tries clone3 first, and falls back to clone if it is missing; code that uses clone3 alone gets an
  /// error.
  @Test(arguments: ["IN_CONSTRUCTOR", "IN_OPEN"]) func aCallThatIsNotThereStartsNothing(place: String) throws
  {
    let folder = try folder("CLONE3", place)
    let outcome = try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    usleep(100_000)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/witness"), "something lived")
  }

  /// A worker that ends before it is ready is started once more; then the plugin is named.
  @Test(arguments: ["SEGV", "LEAVE"]) func aPluginThatEndsItsWorkerInOpenEndsTheIngestWithAWord(way: String)
    throws
  {
    let folder = try folder(way, "IN_OPEN")
    let before = Date()
    let outcome = try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder)
    #expect(outcome.status == 78, "\(outcome.status) \(outcome.err)")
    #expect(outcome.err.contains("the worker for start does not start: crashed"), "\(outcome.err)")
    #expect(Date().timeIntervalSince(before) < 20)
    #expect(
      try SluiceCommand.run(["list", "--home", "home"], in: folder).out.isEmpty, "nothing is queued for it")
  }

  /// If the operator has turned the sandbox off, a plugin may start processes; those that stay in its group
  /// end with it.
  @Test func withoutASandboxTheSamePluginsWork() throws {
    let folder = try folder("FORK", "IN_CONSTRUCTOR")
    try folder.write(
      "pipeline.yaml",
      Pipelines.only("start", plugins: ".", more: "sandbox: off\nretry: { attempts: 1 }"))
    let outcome = try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder)
    // It is first described in a worker of the usual kind.
    #expect(outcome.status == 78, "\(outcome.err)")
    #expect(outcome.err.contains("a stage starts no process"), "\(outcome.err)")
  }
}
