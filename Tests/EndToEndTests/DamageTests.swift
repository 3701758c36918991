import Foundation
import Platform
import SQLite
import Testing

/// Random damage to the files of a home, a pipeline and an installation: every command ends, names the
/// damaged file, and nothing damaged passes as intact.
@Suite struct DamageTests {
  @Test(arguments: 1...2)
  func noDamageCrashesACommandOrPassesForSound(half: Int) throws {
    try Damaging(damages: 15, seed: UInt64(half)).run()
  }
}

/// The longer version, for `make soak`.
@Suite(.enabled(if: Soak.isOn, Soak.skipped))
struct DamageSoakTests {
  @Test(arguments: 1...4)
  func noneOfThousandsOfDamagesPassesForSound(round: Int) throws {
    try Damaging(damages: 1000, seed: UInt64(round) &* 104_729).run()
  }
}

/// Damages one file at a time, and runs every command.
private final class Damaging {
  private let damages: Int
  private var random: SplitMix
  private let seed: UInt64
  private let clean: HomeToDamage
  private let killed: HomeToDamage
  private var wrong = 0
  private var commands = 0
  private var sound = 0

  /// The damaged file, and how messages name it.
  enum Target: CaseIterable {
    case ledger, log, index, object, pipeline, manifest, plugin, reserve, lock, events

    /// The file's name below the folder, and words of which a message must contain one.
    func file(in folder: TemporaryFolder, _ random: inout SplitMix) throws -> (path: String, named: [String])
    {
      switch self {
      case .ledger: return ("var/sluice.db", ["sluice.db"])
      case .log: return ("var/sluice.db-wal", ["sluice.db"])
      case .index: return ("var/sluice.db-shm", ["sluice.db"])
      case .object:
        // What a kill left without its path is told as such, and compared once it has it.
        let objects = folder.files(below: "var/store").filter { !$0.hasPrefix(".incoming/") }
        return ("var/store/" + (objects.randomElement(using: &random) ?? ""), [])
      case .pipeline: return ("pipeline.yaml", ["pipeline.yaml", "events", "store", "size"])
      case .manifest: return ("manifest.jsonl", ["manifest.jsonl"])
      case .plugin:
        let plugin = HomeToDamage.plugins.randomElement(using: &random) ?? ""
        return ("bin/" + plugin, [plugin, "'\(plugin.dropFirst(10).dropLast(3))'"])
      case .reserve: return ("var/reserve", ["reserve"])
      case .lock: return ("var/sluice.lock", ["sluice.lock"])
      case .events: return ("var/events.jsonl", ["events.jsonl"])
      }
    }
  }

  init(damages: Int, seed: UInt64) throws {
    self.damages = damages
    self.seed = seed
    random = SplitMix(state: seed)
    clean = try HomeToDamage(isKilled: false)
    killed = try HomeToDamage(isKilled: true)
  }

  func run() throws {
    for number in 0..<damages {
      // Half of all damage hits the hardest targets: the ledger and its log.
      let target =
        number % 2 == 0
        ? [.ledger, .log, .ledger, .object][number / 2 % 4]
        : Target.allCases[number / 2 % Target.allCases.count]
      try damage(target)
    }
    Soak.row("a file is damaged", tries: damages, failures: wrong)
  }

  private func damage(_ target: Target) throws {
    let home = Bool.random(using: &random) ? clean : killed
    let folder = try home.copy()
    let (path, named) = try target.file(in: folder, &random)
    let file = URL(fileURLWithPath: folder.path + "/" + path)
    let before = try Data(contentsOf: file)
    let kind = Damage.allCases.randomElement(using: &random) ?? .garbage
    let after = kind.applied(to: before, &random)
    try FileManager.default.removeItem(at: file)  // it may be a link to a shared file
    try after.write(to: file)
    if target == .plugin { chmod(file.path, 0o755) }
    let what = "\(path): \(kind.rawValue) (seed \(seed))"

    let first = try verify(folder, what, named)
    if target == .object && after != before {
      check(
        first.status == 1 && first.out.contains(path.dropFirst(4)), "\(what): verify names it: \(first.out)")
    }
    let doctor = target == .plugin ? [["stages", "doctor", path]] : []
    for words in [["status"], ["list"], ["show", home.id]] + doctor {
      let outcome = try run(words, folder, what, words[0] == "stages" ? ["libsluice"] : named)
      if target != .ledger && target != .log && words[0] != "stages" {
        check(outcome.status == 0, "\(what): `\(words[0])` reads no such file: \(outcome.err)")
      }
    }
    let input = target == .manifest ? ["--manifest", "manifest.jsonl"] : ["more"]
    try run(["ingest", "--participants", "ann,ben"] + input, folder, what, named)
    let second = try verify(folder, what, named)
    if first.status == 0 && second.status == 0 { sound += 1 }
    if second.status == 1 || target == .object {
      let repair = try run(["verify", "--repair"], folder, what, named)
      try run(["ingest", "more"], folder, what, named)
      let last = try verify(folder, what, named)
      if target == .object {
        check(repair.status == 0 && last.status == 0, "\(what): repaired: \(repair.out)\(last.out)")
      }
    }
  }

  /// Verifies a home, and checks whether the findings are true.
  private func verify(_ folder: TemporaryFolder, _ what: String, _ named: [String]) throws
    -> SluiceCommand.Outcome
  {
    let outcome = try run(["verify"], folder, what, named)
    if outcome.status == 0 {
      let wrong = try Witness(folder: folder).faults([]).filter { $0.rule.hasPrefix("object-") }
      check(wrong.isEmpty, "\(what): verify calls it sound, and these objects are not: \(wrong)")
    }
    return outcome
  }

  /// Runs a command, which must end as documented and name what it could not use.
  @discardableResult
  private func run(
    _ words: [String], _ folder: TemporaryFolder, _ what: String, _ named: [String]
  ) throws -> SluiceCommand.Outcome {
    commands += 1
    let (out, err) = (folder.path + "/.out", folder.path + "/.err")
    let process = try SluiceCommand.start(
      words, in: folder, out: out, err: err, program: folder.path + "/bin/sluice")
    let deadline = Date(timeIntervalSinceNow: 100)
    while process.isRunning && Date() < deadline { usleep(1000) }
    let isLate = process.isRunning
    if isLate { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    let outcome = SluiceCommand.Outcome(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
      out: String(decoding: try Data(contentsOf: URL(fileURLWithPath: out)), as: UTF8.self),
      err: String(decoding: try Data(contentsOf: URL(fileURLWithPath: err)), as: UTF8.self))
    let command = "\(what): `\(words.joined(separator: " "))`"
    check(!isLate, "\(command) does not end")
    check(
      isLate || !outcome.wasKilled, "\(command) dies of signal \(outcome.status): \(outcome.err.suffix(2000))"
    )
    check([0, 1, 2, 70, 75, 78].contains(outcome.status), "\(command) ends with \(outcome.status)")
    // A problem of one attachment is reported with it; a problem of a command is reported by itself.
    if outcome.status > 2 || (outcome.status == 2 && words[0] != "show") {
      check(
        named.contains { outcome.err.contains($0) || outcome.out.contains($0) },
        "\(command) ends with \(outcome.status) and does not say why: \(outcome.err)")
    }
    return outcome
  }

  private func check(_ holds: Bool, _ message: @autoclosure () -> String) {
    if holds { return }
    wrong += 1
    Issue.record("\(message())")
  }
}
