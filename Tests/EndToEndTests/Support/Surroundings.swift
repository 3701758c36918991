import Foundation
import Testing

/// The surroundings that a worker must not reach: a secret, files, sockets, a process. They are inspected
/// afterwards, so that the test does not depend on the stage's word.
final class Surroundings {
  /// The result of one attack.
  struct Finding {
    var attack: Attack
    /// The message of the coordinator or the stage.
    var said: String
    /// The observed effects, or those that the stage reports.
    var effects: [String]
    /// The worker was killed, by the intended guard.
    var wasKilled: Bool
    /// The call was denied.
    var wasRefused: Bool
  }

  let folder: TemporaryFolder
  let secret = "secret-\(UUID().uuidString)"
  let user: UInt32?
  let attacks: [Attack]
  private let listeners: Listeners
  private let canary: Canary

  private static let untouched = "untouched\n"
  private static let signals: ClosedRange<Int> = 40...60

  /// - Parameters:
  ///   - attacks: the attacks to try.
  ///   - user: the user who runs everything and owns the surroundings, so that file permissions prevent
  ///     nothing; `nil`: this process's.
  init(_ attacks: [Attack], user: UInt32?) throws {
    folder = try TemporaryFolder()
    self.attacks = attacks
    self.user = user
    try folder.write("secret", secret + "\n")
    for place in ["in", "out", "home/store", "mounts"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(place)", withIntermediateDirectories: true)
    }
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: folder.path + "/secret")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/home/store/way-out", withDestinationPath: folder.path + "/out")
    listeners = try Listeners(in: folder.path)
    if let user {
      _ = try FixtureStages.run("/usr/bin/chown", ["-R", "\(user):\(user)", folder.path])
    }
    canary = try Canary(user: user, in: folder.path, environment: ["TOKEN": secret])
    for (number, attack) in attacks.enumerated() {
      try folder.write("out/" + attack.name, Self.untouched)
      try folder.write("in/" + attack.name, content(of: attack, number))
    }
    if let user {
      let owned = ["-R", "\(user):\(user)", folder.path + "/in", folder.path + "/out"]
      _ = try FixtureStages.run("/usr/bin/chown", owned)
    }
  }

  /// The scene, as the stage reads it. It does not contain the secret, which the attacks have to find.
  private func content(of attack: Attack, _ number: Int) -> String {
    """
    act \(attack.name)
    world \(folder.path)
    store \(folder.path)/home/store
    abstract \(listeners.abstract)
    tcp \(listeners.tcp)
    udp \(listeners.udp)
    canary \(canary.pid)
    buffer \(canary.buffer + UInt(number))
    signal \(signal(of: number))
    \(attack.name == "flock" ? secret : "")

    """
  }

  private func signal(of number: Int) -> Int {
    let before = attacks[..<number].count(where: \.sendsSignal)
    return attacks[number].sendsSignal ? Self.signals.lowerBound + before : 0
  }

  // MARK: Trying

  /// Runs an ingest of all attacks in the background.
  func start(sandbox: String) throws -> Process {
    let capability = attacks.first?.capability ?? .content
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: \(capability.stage)
          isolation: fresh
          timeout: 5s
          memory: 64MB
          on-crash: reject
          on-timeout: reject
          on-limit: reject
      sandbox: \(sandbox)
      workers: 8
      """)
    // Simulates an operator's shell that leaves a descriptor open, has input to read, and has secrets in its
    // environment.
    let program = user == nil ? SluiceCommand.folder : try Installation.shared().prefix + "/lib/sluice"
    let shell = ["/bin/sh", "-c", "exec 8<secret <secret; exec \"$@\"", "sh", program + "/sluice"]
    let words = ["ingest", "--format", "json", "--home", "home", "in"]
    let command = User.command(user, shell + words)
    return try SluiceCommand.start(
      Array(command.dropFirst()), in: folder, out: folder.path + "/.out", err: folder.path + "/.err",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder(), "TOKEN": secret], program: command[0])
  }

  // MARK: Looking

  /// Waits for the end, and inspects everything.
  func findings(_ process: Process) throws -> [Finding] {
    process.waitUntilExit()
    let out = try folder.read(".out")
    let err = try folder.read(".err")
    let outcome = SluiceCommand.Outcome(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal, out: out,
      err: err)
    #expect(!outcome.wasKilled && outcome.status == 1, "the coordinator lives: \(outcome.status) \(err)")
    var effects = try effects()
    let records = outcome.attachments
    #expect(records.count == attacks.count, "\(err)")
    var findings: [Finding] = []
    for attack in attacks {
      let record = records.first { $0.fileName == attack.name }
      let code = record?.code ?? record?.status ?? "no record"
      let message = record?.message ?? ""
      var seen = effects.removeValue(forKey: attack.name) ?? []
      if code == "achieved" { seen.append("the stage says so") }
      if code == "source-changed" { seen.append("the sender's file was touched") }
      if message.contains(secret) { seen.append("it knows the secret") }
      if out.contains("said by \(attack.name)") { seen.append("its words are in the output") }
      findings.append(
        Finding(
          attack: attack, said: "\(code): \(printable(message))",
          effects: seen,
          wasKilled: code == (attack.name == "pass-descriptor" ? "invalid-reply" : "forbidden-call"),
          wasRefused: code == "refused"))
    }
    #expect(effects.isEmpty, "what nobody was to do has an effect: \(effects)")
    return findings
  }

  func printable(_ message: String) -> String {
    message.replacingOccurrences(of: secret, with: "SECRET").replacingOccurrences(of: "\n", with: " ")
  }

  /// The changes, by the attack that alone would have caused each.
  func effects() throws -> [String: [String]] {
    var effects: [String: [String]] = [:]
    for (number, attack) in attacks.enumerated() {
      if let change = change(of: "out/" + attack.name, from: Self.untouched) {
        effects[attack.name, default: []].append("a file outside \(change)")
      }
      if let change = change(of: "in/" + attack.name, from: content(of: attack, number)) {
        effects[attack.name, default: []].append("the sender's file \(change)")
      }
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path + "/out")
    where name.hasPrefix("made-") {
      effects[String(name.dropFirst(5)), default: []].append("something new lies outside")
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/store") {
      var facts = stat()
      guard attacks.contains(where: { $0.name == name }),
        lstat(folder.path + "/home/store/" + name, &facts) == 0
      else { continue }
      if facts.st_mode & 0o6000 != 0 {
        effects[name, default: []].append("mode \(String(facts.st_mode, radix: 8))")
      }
      if facts.st_mode & S_IFMT == S_IFLNK { effects[name, default: []].append("a link lies in the store") }
    }
    let shared = "/dev/shm/sluice-\(canary.pid)-made"
    if FileManager.default.fileExists(atPath: shared) {
      effects["shared-memory-file", default: []].append("shared memory has a name")
      try FileManager.default.removeItem(atPath: shared)
    }
    for heard in listeners.heard() { effects[heard, default: []].append("somebody heard it") }
    for line in try canary.report() {
      effects[culprit(line), default: []].append("the canary tells: \(line)")
    }
    return effects
  }

  private func culprit(_ line: String) -> String {
    let words = line.split(separator: " ")
    guard words.count == 2, let number = Int(words[1]) else {
      return line == "limit" ? "prlimit-other" : line
    }
    if words[0] == "byte" { return number < attacks.count ? attacks[number].name : line }
    return attacks.indices.first { signal(of: $0) == number }.map { attacks[$0].name } ?? line
  }

  /// `nil`: unchanged.
  private func change(of file: String, from contents: String) -> String? {
    var facts = stat()
    guard lstat(folder.path + "/" + file, &facts) == 0 else { return "is gone" }
    if facts.st_mode & 0o777 != 0o600 && facts.st_mode & 0o777 != 0o644 {
      return "has mode \(String(facts.st_mode, radix: 8))"
    }
    if facts.st_mtim.tv_sec == 1 { return "has another time" }
    if facts.st_nlink != 1 { return "has another name" }
    guard let found = try? folder.read(file) else { return "cannot be read" }
    return found == contents ? nil : "holds '\(found.prefix(20))'"
  }
}
