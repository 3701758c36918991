import Foundation
import Testing

/// Ways out of a worker, tried: none leads anywhere. The same acts without a sandbox show that they are no empty threats.
@Suite(.serialized)
struct SandboxTests {
  static let users: [UInt32?] = geteuid() == 0 ? [nil, User.ordinary] : [nil]

  @Test(arguments: Attack.Capability.allCases, users)
  func nothingGetsOut(capability: Attack.Capability, user: UInt32?) throws {
    let surroundings = try Surroundings(Attack.all(capability), user: user)
    let findings = try surroundings.findings(surroundings.start(sandbox: "require"))
    AttackTable.add(findings, user: user.map { "user \($0)" } ?? "user \(geteuid())")
    for finding in findings {
      let attack = finding.attack
      #expect(finding.effects == [], "\(attack.name) with \(capability): \(finding.said)")
      // By the guard that is meant to, even where a second one stands behind it.
      #expect(
        attack.isAnswered ? finding.wasRefused : finding.wasKilled,
        "\(attack.name) with \(capability): \(finding.said)")
    }
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [Attack.Capability.content, .store])
  func withoutASandboxTheSameActsSucceed(capability: Attack.Capability) throws {
    let attacks = Attack.control.filter { $0.capability == capability }
    let surroundings = try Surroundings(attacks, user: nil)
    let findings = try surroundings.findings(surroundings.start(sandbox: "off"))
    AttackTable.add(findings, user: "root, no sandbox")
    for finding in findings {
      let isUnknown = ["ENOSYS", "EAFNOSUPPORT"].contains { finding.said.contains($0) }
      #expect(finding.effects != [] || isUnknown, "\(finding.attack.name): \(finding.said)")
    }
  }
}
