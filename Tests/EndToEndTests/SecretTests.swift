import Foundation
import Testing

/// Secrets that a pipeline takes from files, and the home's key: commands show where they lie, and never what they are.
@Suite(.serialized)
struct SecretTests {
  private static let canary = "CANARY5f3c91d2"
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("in/a.txt", "a text\n")
  }

  private func secret(_ name: String, _ text: String, mode: mode_t = 0o600) throws {
    chmod(try folder.write(name, text), mode)
  }

  /// A pipeline whose stage says what its option is.
  private func scanning(_ address: String) throws {
    try folder.write(
      "pipeline.yaml", "version: 1\nstages:\n  - use: scan\n    options: { address: '\(address)' }\n")
  }

  private func run(_ arguments: [String], environment: [String: String] = [:]) throws -> SluiceCommand.Outcome
  {
    let outcome = try SluiceCommand.run(arguments, in: folder, environment: environment)
    #expect(
      !outcome.out.contains("CANARY") && !outcome.err.contains("CANARY"),
      "\(arguments): \(outcome.out)\(outcome.err)")
    return outcome
  }

  @Test(arguments: ["${file:token}", "${TOKEN}"])
  func aStageThatRepeatsItsOptionDoesNotShowASecret(written: String) throws {
    try secret("token", Self.canary + "\n")
    try scanning(written)
    for arguments in [
      ["lint"], ["lint", "--format", "json"], ["ingest", "--home", "home", "in"], ["graph"],
    ] {
      let outcome = try run(arguments, environment: ["TOKEN": Self.canary])
      if arguments != ["graph"] {
        #expect(outcome.status == 78)
        #expect(
          (outcome.out + outcome.err).contains("address: '«secret»' begins neither with unix: nor with tcp:"))
      }
    }
  }

  /// As managers of containers hand secrets in. In a namespace of its own, which only root may make.
  @Test(.enabled(if: geteuid() == 0, "it mounts a file system"))
  func aSecretOnAReadOnlyMountMayBeReadByOthers() throws {
    try secret("handed/token", "unix:/run/scanner", mode: 0o444)
    try scanning("${file:handed/token}")
    let script = "mount --bind handed handed && mount -o remount,ro,bind handed && sluice lint"
    let outcome = try SluiceCommand.run(
      ["-m", "sh", "-c", script], in: folder,
      environment: ["PATH": "\(SluiceCommand.folder):/usr/bin:/bin:/usr/sbin:/sbin"],
      program: "/usr/bin/unshare")
    // A container may forbid it.
    if outcome.err.contains("unshare failed") || outcome.err.contains("permission denied") { return }
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
    #expect(try run(["lint"]).status == 78, "outside it is on a disk that can be written")
  }

  @Test func aSecretThatOthersCanReadIsRefused() throws {
    try secret("token", Self.canary, mode: 0o644)
    try scanning("${file:token}")
    let outcome = try run(["lint"])
    #expect(outcome.status == 78)
    #expect(
      outcome.err
        == "pipeline.yaml:4:25: the secret in 'token' cannot be read: has mode 0644, so that others than its owner and group can "
        + "read or change it; run `chmod 0640 token`, and think of a new secret: this one may be known\n")
  }

  /// An endpoint that is not there leaves a reason, and the address has the secret.
  @Test func theHomeHasNoSecretOfAChannel() throws {
    try secret("token", Self.canary)
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: notify
          options: { to: participants, channels: [hook] }
      channels:
        hook:
          use: webhook
          retry: { attempts: 1 }
          options:
            url: "http://127.0.0.1:9/${file:token}"
            secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"]
            allow-private: [127.0.0.1]
      """)
    let ingest = try run(["ingest", "--home", "home", "--participants", "ann", "in"])
    #expect((ingest.out + ingest.err).contains("deliver"), "\(ingest.out)\(ingest.err)")
    _ = try run(["deliveries", "--home", "home"])
    #expect(try run(["backup", "--home", "home", "copy.db"]).status == 0)
    for name in folder.files(below: "home").map({ "home/\($0)" }) + ["copy.db"] {
      let content = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
      #expect(content.range(of: Data("CANARY".utf8)) == nil, "\(name)")
    }
  }

  // MARK: The key

  private func doctor(_ more: [String] = [], environment: [String: String] = [:]) throws
    -> SluiceCommand.Outcome
  {
    try run(["doctor", "--home", "home"] + more, environment: environment)
  }

  @Test func doctorSaysWhereTheKeyLies() throws {
    let digits = String(repeating: "0123456789abcdef", count: 4)
    let fresh = try doctor()
    #expect(
      fresh.out.contains(
        "ok       home/sluice.key (not there yet; it is made when something is sealed first)"))
    #expect(fresh.out.contains("The disk of this home: "))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home"), "doctor makes nothing")
    try secret("home/sluice.key", digits + "\n")
    #expect(try doctor().out.contains("ok       home/sluice.key\n"))
    chmod(folder.path + "/home/sluice.key", 0o644)
    let open = try doctor()
    #expect(open.status == 1)
    #expect(
      open.out.contains(
        "the key home/sluice.key: has mode 0644, so that others than its owner can read or change it; run "))
    try folder.write(
      "pipeline.yaml",
      "version: 1\nstages: [{ use: size }]\nsecrets: { key: 'env:KEY', old: ['file:/nowhere/key'] }\n")
    let named = try doctor(environment: ["KEY": digits])
    #expect(named.status == 1)
    #expect(named.out.contains("ok       env:KEY\n"))
    #expect(named.out.contains("which every program that this user starts may see"))
    #expect(named.out.contains("wrong    file:/nowhere/key (old)\n"))
    #expect(named.out.contains("the key /nowhere/key: no such file or directory; make it, or name another"))
    let json = try doctor(["--format", "json"], environment: ["KEY": digits])
    #expect(
      json.out.contains(
        #""keys":[{"source":"env:KEY","state":"ok","old":false,"warning":"the key comes from"#))
    #expect(json.out.contains(#""disk":{"encryption":""#))
    for outcome in [fresh, open, named, json] { #expect(!outcome.out.contains("0123456789abcdef")) }
  }

  @Test func aBackupHasNoKeyAndReplacesNone() throws {
    try folder.write("pipeline.yaml", "version: 1\nstages: [{ use: size }]\n")
    #expect(try run(["ingest", "--home", "home", "in"]).status == 0)
    let digits = String(repeating: "0123456789abcdef", count: 4)
    try secret("home/sluice.key", digits)
    try FileManager.default.createDirectory(
      atPath: folder.path + "/copies", withIntermediateDirectories: true)
    #expect(try run(["backup", "--home", "home", "copies/ledger.db"]).status == 0)
    #expect(folder.files(below: "copies") == ["ledger.db"])
    let copy = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/copies/ledger.db"))
    #expect(copy.range(of: Data("0123456789abcdef".utf8)) == nil)
    try FileManager.default.linkItem(atPath: folder.path + "/home/sluice.key", toPath: folder.path + "/twin")
    for target in ["home/sluice.key", "twin"] {
      let outcome = try run(["backup", "--home", "home", "-f", target])
      #expect([2, 78].contains(outcome.status), "\(target): \(outcome.err)")
      #expect(outcome.err.contains("; "))
    }
    #expect(try folder.read("home/sluice.key") == digits)
    try folder.write(
      "pipeline.yaml",
      "version: 1\nstages: [{ use: size }]\nchannels: { events: { use: jsonl, options: { path: sluice.key } } }\n"
    )
    #expect(try run(["lint", "--home", "home"]).err.contains("sluice's own file 'sluice.key'"))
  }
}
