import Foundation
import Glibc
import Testing

/// Attempts to escape from the sandbox of the process that serves HTTP: all of them fail.
@Suite(.serialized)
struct FrontSandboxTests {
  /// Some of each kind, and all that are about what that process alone is handed.
  private static let some: Set = [
    "openat", "open-by-root", "open-ledger", "canary-memory", "create", "mkdir", "unlink", "reopen-content",
    "write-content", "mount", "fork", "clone3", "exec", "unshare", "kill", "ptrace", "vm-read", "pidfd-getfd",
    "prlimit-other", "setresuid", "raise-output", "allow-core", "swallow-trap", "map-code", "unknown-call",
    "bpf", "io-uring", "keyctl", "tcp", "udp", "bind-tcp", "unix-stream", "unix-abstract", "reconnect",
    "send-elsewhere", "shutdown",
  ]

  @Test(arguments: SandboxTests.users)
  func nothingGetsOut(user: UInt32?) throws {
    try Self.tryAll(
      Attack.all(.front).filter {
        Self.some.contains($0.name) || $0.name.hasPrefix("listener-") || $0.name.hasPrefix("upload-")
      }, user)
  }

  /// - Returns: how many were tried, and how many were not prevented as they must be.
  @discardableResult
  static func tryAll(_ attacks: [Attack], _ user: UInt32?) throws -> (tries: Int, failures: Int) {
    var failures = 0
    let findings = try Surroundings(attacks, user: user).tryInFront()
    AttackTable.add(findings, user: user == nil ? "own" : "other")
    for finding in findings {
      let isHeld = finding.attack.isAnswered ? finding.wasRefused : finding.wasKilled
      if finding.effects != [] || !isHeld { failures += 1 }
      #expect(finding.effects == [], "\(finding.attack.name): \(finding.said)")
      // By the intended guard, even if a second one would also prevent it.
      #expect(isHeld, "\(finding.attack.name): \(finding.said)")
    }
    return (findings.count, failures)
  }

  /// Those of sockets that listen, which no stage tries. That the others are real, `SandboxTests` shows.
  @Test func withoutASandboxTheSameActsSucceed() throws {
    // To repair a connection, and to seal a file that is not there for it, nobody may.
    let never = ["listener-repair", "upload-seal"]
    let attacks = Attack.all(.front).filter {
      ($0.name.hasPrefix("listener-") || $0.name.hasPrefix("upload-")) && !never.contains($0.name)
    }
    for finding in try Surroundings(attacks, user: nil).tryInFront(isOpen: true) {
      #expect(finding.effects != [], "\(finding.attack.name): \(finding.said)")
    }
  }

  /// Its entries in /proc.
  @Test func theServerHasNoRightsAndNothingOpenButSockets() throws {
    let folder = try TemporaryFolder()
    let served = try ServedHome(folder)
    let server = served.server
    let standing = WorkerStanding(of: server)
    #expect(standing.status("NoNewPrivs") == "1")
    #expect(standing.status("Seccomp") == "2")
    #expect(standing.limit("Max core file size") == "0")
    for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
      #expect(UInt64(standing.status(set), radix: 16) == 0, "\(set)")
    }
    if geteuid() == 0 {
      for ids in ["Uid", "Gid"] { #expect(standing.status(ids) == "65534\t65534\t65534\t65534") }
      #expect(standing.status("Groups").isEmpty)
    }
    let descriptors = "/proc/\(server)/fd"
    for name in try FileManager.default.contentsOfDirectory(atPath: descriptors) {
      let target = try FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(name)")
      let isHarmless =
        target == "/dev/null" || ["socket:", "pipe:", "anon_inode:"].contains { target.hasPrefix($0) }
      #expect(isHarmless, "descriptor \(name) is \(target)")
    }
    #expect(served.stop() == 0)
  }

  /// It turns the rest away, with the one call that takes a connection and is allowed.
  @Test func withoutDescriptorsForItAClientIsTurnedAway() throws {
    let folder = try TemporaryFolder()
    let served = try ServedHome(folder, limits: "ulimit -n 128")
    let server = served.server
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    for _ in 0..<150 { sockets.append(try served.connected()) }
    var room = [UInt8](repeating: 0, count: 200)
    try Resident.wait("one is turned away") {
      sockets.contains { socket in
        let count = recv(socket, &room, room.count, Int32(MSG_DONTWAIT))
        return count > 0 && String(decoding: room[..<count], as: UTF8.self).hasPrefix("HTTP/1.1 503")
      }
    }
    for socket in sockets { close(socket) }
    sockets = []
    try Resident.wait("it answers again") { (try? served.ask("GET", "/livez"))?.status == 200 }
    #expect(served.server == server, "\(served.errors)")
    #expect(served.stop() == 0)
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct FrontSandboxSoakTests {
  @Test(arguments: SandboxTests.users)
  func nothingGetsOut(user: UInt32?) throws {
    let (tries, failures) = try FrontSandboxTests.tryAll(Attack.all(.front), user)
    Soak.row(
      "a way out of the HTTP server\(user == nil ? "" : ", another user")", tries: tries, failures: failures)
  }
}
