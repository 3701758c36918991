import Foundation
import Testing

// The same attacks in the sandbox of the process that serves HTTP, which no stage gets into: by a program of their own,
// `Tests/Fixtures/Front/escape-front.c`, that closes it as that process does.
extension Surroundings {
  /// Tries all attacks, each in a process of its own, and inspects everything.
  ///
  /// - Parameter isOpen: the sandbox is not closed.
  func tryInFront(isOpen: Bool = false) throws -> [Finding] {
    let words =
      [try Self.program.get(), isOpen ? "open" : "closed", folder.path + "/in"] + attacks.map(\.name)
    let shell = ["/bin/sh", "-c", "exec 8<secret <secret; exec \"$@\"", "sh"]
    let command = User.command(user, shell + words)
    let outcome = try SluiceCommand.run(
      Array(command.dropFirst()), in: folder, environment: ["TOKEN": secret], program: command[0])
    #expect(outcome.status == 0, "\(outcome.err)")
    var effects = try effects()
    var findings: [Finding] = []
    for attack in attacks {
      let line = outcome.out.split(separator: "\n").first { $0.hasPrefix(attack.name + "\t") } ?? ""
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).dropFirst().map(String.init)
      let (code, message) = (cells.first ?? "no answer", cells.dropFirst().first ?? "")
      var seen = effects.removeValue(forKey: attack.name) ?? []
      if code == "achieved" { seen.append("it says so") }
      if message.contains(secret) { seen.append("it knows the secret") }
      findings.append(
        Finding(
          attack: attack, said: "\(code): \(printable(message))", effects: seen,
          wasKilled: code == "forbidden-call", wasRefused: code == "refused"))
    }
    #expect(effects.isEmpty, "what nobody was to do has an effect: \(effects)")
    return findings
  }

  private static let program = Result {
    let file = try FixtureStages.folder() + "/escape-front"
    let project = SluiceCommand.projectFolder
    let system = project + "/Sources/System"
    let includes = [
      project + "/Sources/Contract/CStage/include", system + "/CWorker/include",
      system + "/CPlatform/include",
    ].flatMap { ["-I", $0] }
    let sources =
      ["\(project)/Tests/Fixtures/Front/escape-front.c"]
      + ["sandbox", "watch", "crash", "names"].map { "\(system)/CWorker/\($0).c" }
      + ["\(system)/CPlatform/platform.c"]
    let words = ["-O1", "-w"] + includes + sources + ["-lseccomp", "-o", file]
    if try FixtureStages.run(FixtureStages.compiler, words) != 0 {
      throw FixtureStages.DoesNotCompile(name: "escape-front")
    }
    return file
  }
}
