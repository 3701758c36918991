import Foundation
import Testing

/// Tests of the witness that judges the tests with kills and faults: a home that keeps every promise passes,
/// and each broken promise is named, and no other.
@Suite(.serialized)
struct WitnessTests {
  @Test func aBrokenPromiseIsNamedAndNoOther() throws {
    try expectNamed(Breakage.all, of: try WitnessedHome.make())
  }

  @Test func aBrokenPromiseOfATreeIsNamedAndNoOther() throws {
    try expectNamed(Breakage.trees, of: try WitnessedHome.makeTree())
  }

  private func expectNamed(_ breakages: [Breakage], of good: WitnessedHome) throws {
    #expect(try good.broken().map { "\($0.rule): \($0.place): \($0.reason)" } == [])
    for breakage in breakages {
      var home = try good.copy()
      home.options += breakage.asks
      try breakage.make(home)
      let faults = try home.broken()
      var rules = Set(faults.map(\.rule))
      // SQLite's versions differ in whether integrity_check checks CHECK constraints.
      if rules.contains("row-malformed") { rules.remove("integrity") }
      let said = faults.map { "\($0.rule): \($0.place): \($0.reason)" }
      #expect(rules == breakage.rules, "\(breakage.what): \(said)")
      #expect(faults.allSatisfy { !$0.place.isEmpty && !$0.reason.isEmpty }, "\(breakage.what): \(said)")
    }
  }

  @Test func eachRuleIsSeenToFail() throws {
    let rules = try SluiceCommand.run(["rules"], in: TemporaryFolder(), program: Witness.program).out
    let names = rules.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(names.count > 30)
    #expect(Set(names) == (Breakage.all + Breakage.trees).reduce(into: []) { $0.formUnion($1.rules) })
  }

  @Test func aHomeThatIsNotDoneYetIsWholeAndNotDrained() throws {
    _ = try WitnessedHome.make { home in
      #expect(try home.broken(isDrained: false).map(\.reason) == [])
      let left = Set(try home.broken().map(\.rule))
      #expect(
        left.contains("job-left")
          && left.isSubset(of: ["job-left", "leftover", "object-missing", "event-torn"]), "\(left)")
    }
  }

  // MARK: Recording

  @Test func aLineIsAcknowledgedOnceItIsOnRecord() throws {
    let folder = try TemporaryFolder()
    let witness = Witness(folder: folder)
    let recording = try witness.record(to: folder.path + "/echo")
    for number in 0..<50 {
      let line = "{\"record\":\"offer\",\"source\":\"/\(number)\",\"statuses\":[]}\n"
      try recording.input.write(contentsOf: Data(line.utf8))
      var echo = ""
      while !echo.hasSuffix(line) { echo = try folder.read("echo") }
      #expect(try folder.read(".witness").contains("\\/\(number)\""))
    }
    try recording.handOver()
    recording.end()
  }

  @Test func halfALineWasNeverTold() throws {
    let folder = try TemporaryFolder()
    let witness = Witness(folder: folder)
    let recording = try witness.record(to: folder.path + "/echo")
    try recording.input.write(contentsOf: Data("{\"record\":\"offer\"}\n{\"record\":\"off".utf8))
    try recording.handOver()
    recording.end()
    #expect(try folder.read("echo") == "{\"record\":\"offer\"}\n")
    #expect(try folder.read(".witness").components(separatedBy: "offer").count == 2)
  }
}
