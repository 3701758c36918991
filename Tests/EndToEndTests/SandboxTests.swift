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
      #expect(finding.effects == [], "\(finding.attack.name) of \(capability): \(finding.said)")
      #expect(finding.wasKilled || finding.wasRefused, "\(finding.attack.name) of \(capability): \(finding.said)")
    }
  }

  @Test(.enabled(if: geteuid() == 0), arguments: Attack.Capability.allCases)
  func withoutASandboxTheSameActsSucceed(capability: Attack.Capability) throws {
    let surroundings = try Surroundings(Attack.all(capability), user: nil)
    let findings = try surroundings.findings(surroundings.start(sandbox: "off"))
    AttackTable.add(findings, user: "root, no sandbox")
  }
}
