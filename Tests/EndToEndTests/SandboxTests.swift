import Foundation
import SQLite
import Testing

/// Attempts to escape from a worker: all of them fail. The same attempts without a sandbox succeed, so they
/// are real.
@Suite(.serialized)
struct SandboxTests {
  static let users: [UInt32?] = geteuid() == 0 ? [nil, User.ordinary] : [nil]

  @Test(arguments: Attack.Capability.allCases, users)
  func nothingGetsOut(capability: Attack.Capability, user: UInt32?) throws {
    try Self.tryAll(capability, user)
  }

  /// - Returns: how many were tried, and how many were not prevented as they must be.
  @discardableResult
  static func tryAll(_ capability: Attack.Capability, _ user: UInt32?) throws -> (tries: Int, failures: Int) {
    var failures = 0
    let surroundings = try Surroundings(Attack.all(capability), user: user)
    let findings = try surroundings.findings(surroundings.start(sandbox: "require"))
    AttackTable.add(findings, user: user == nil ? "own" : "other")
    for finding in findings {
      let attack = finding.attack
      let isHeld = attack.isAnswered ? finding.wasRefused : finding.wasKilled
      if finding.effects != [] || !isHeld { failures += 1 }
      #expect(finding.effects == [], "\(attack.name) with \(capability): \(finding.said)")
      // By the intended guard, even if a second one would also prevent it.
      #expect(
        isHeld,
        "\(attack.name) with \(capability): \(finding.said)")
      if let call = attack.call, finding.wasKilled {
        #expect(finding.said.contains("does not allow \(call)(2) with"), "\(attack.name): \(finding.said)")
      }
    }
    return (findings.count, failures)
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [Attack.Capability.content, .store])
  func withoutASandboxTheSameActsSucceed(capability: Attack.Capability) throws {
    let attacks = Attack.control.filter { $0.capability == capability }
    let surroundings = try Surroundings(attacks, user: nil)
    let findings = try surroundings.findings(surroundings.start(sandbox: "off"))
    AttackTable.add(findings, user: "root, no sandbox")
    for finding in findings {
      // A kernel may lack a call; a container or a chroot(2) forbids some even to root, as unshare(2) says.
      let isOut = ["ENOSYS", "EAFNOSUPPORT", "EPERM"].contains { finding.said.contains($0) }
      #expect(finding.effects != [] || isOut, "\(finding.attack.name): \(finding.said)")
    }
    #expect(findings.count { $0.effects != [] } * 10 >= findings.count * 8, "most of them do")
  }

  // MARK: Seen from outside

  /// The /proc entries of each worker while one is at work.
  @Test(arguments: Attack.Capability.allCases, users)
  func aWorkerHasNoRightsThatItDoesNotNeed(capability: Attack.Capability, user: UInt32?) throws {
    // It lives for half a second, which a busy machine may miss.
    var found: WorkerStanding?
    for _ in 0..<4 where found == nil { found = try Self.workerAtWork(capability, user) }
    let worker = try #require(found)
    #expect(worker.status("NoNewPrivs") == "1")
    #expect(worker.status("Seccomp") == "2")
    #expect(worker.limit("Max core file size") == "0")
    // To write where another user owns: CAP_DAC_OVERRIDE and CAP_FOWNER.
    let kept: UInt64 = capability == .store && user == nil && geteuid() == 0 ? 1 << 1 | 1 << 3 : 0
    for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
      let held = try #require(UInt64(worker.status(set), radix: 16))
      #expect(held & ~kept == 0, "\(set) of \(capability)")
    }
  }

  private static func workerAtWork(_ capability: Attack.Capability, _ user: UInt32?) throws -> WorkerStanding?
  {
    let surroundings = try Surroundings([.wait(capability)], user: user)
    let process = try surroundings.start(sandbox: "require")
    var found: WorkerStanding?
    while process.isRunning && found == nil {
      found = Inbox.workers(of: process.processIdentifier).map(WorkerStanding.init).first {
        // One filter set before the plugin is loaded, and the sandbox's own.
        $0.hasLoaded("libsluice-escape") && $0.status("Seccomp_filters") == "2"
      }
      usleep(2000)
    }
    _ = try surroundings.findings(process)
    return found
  }

  // MARK: Channels

  @Test func aChannelCannotUseTheHomeItIsShown() throws {
    let folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write("secret", "secret\n")
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: store
          options: { path: "{attachmentId}" }
        - use: notify
          options: { to: everyone, channels: [out] }
      channels:
        out: { use: escape-channel }
      """)
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "--participants", "ann", "in"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    #expect(outcome.status == 0, "\(outcome.err)")
    var told: [String] = []
    try Connection(folder.path + "/home/sluice.db", .readOnly).prepare(
      "SELECT status || ' ' || coalesce(reason_message, '') FROM deliveries"
    ).rows { told.append($0.text(0)) }
    #expect(told == ["delivered "] || told == ["delivered ", "delivered "])
    #expect(!folder.files(below: "home").contains("made-by-channel"))
  }

  /// The channel would keep the home as long as it lives, and the ledger lies there.
  @Test func aChannelThatWantsToStoreIsRefused() throws {
    let folder = try TemporaryFolder()
    try FixtureStages.compile("escape-channel", into: folder.path, ["-DESCAPE_CAPABILITY=SLUICE_STORE"])
    let outcome = try SluiceCommand.run(
      ["stages", "doctor", folder.path + "/libsluice-escape-channel.so"], in: folder)
    #expect(outcome.status == 1)
    #expect(outcome.out.contains("is a channel that asks for capability store"), "\(outcome.out)")
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct SandboxSoakTests {
  @Test(arguments: Attack.Capability.allCases, SandboxTests.users)
  func nothingGetsOut(capability: Attack.Capability, user: UInt32?) throws {
    let (tries, failures) = try SandboxTests.tryAll(capability, user)
    let who = user == nil ? "" : ", another user"
    Soak.row("a way out of a worker: \(capability.rawValue)\(who)", tries: tries, failures: failures)
  }
}
