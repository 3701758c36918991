import Testing

@testable import sluice_bench

struct SettingsTests {
  @Test func theDisksAreNamed() throws {
    #expect(try Settings(["--disk", "memory,here"]).disks == [.memory, .here])
    #expect(try Settings([]).disks == nil)
  }

  @Test func anUnknownDiskIsRefusedWithTheKnownOnes() {
    let error = #expect(throws: BenchError.self) { try Settings(["--disk", "floppy"]) }
    #expect(error?.description == "--disk is journaled, memory, here; not 'floppy'")
  }

  @Test func aComparisonHasThreeRoundsAndMoreWhileThereIsTime() throws {
    let settings = try Settings([])
    #expect(settings.goesOn(2, after: 60))
    #expect(!settings.goesOn(3, after: 60))
    #expect(settings.goesOn(4, after: 10))
    #expect(!settings.goesOn(5, after: 10))
  }

  @Test func aQuickOneHasTwo() throws {
    let settings = try Settings(["--quick"])
    #expect(settings.goesOn(1, after: 10))
    #expect(!settings.goesOn(2, after: 0))
  }

  @Test(arguments: [[], ["--quick"]])
  func aSlowMachineHasOne(_ words: [String]) throws {
    let settings = try Settings(words)
    #expect(settings.goesOn(0, after: 1000))
    #expect(!settings.goesOn(1, after: 1000))
  }

  @Test func aNumberOfRoundsIsKept() throws {
    let settings = try Settings(["--rounds", "7", "--quick"])
    #expect(settings.goesOn(6, after: 1000))
    #expect(!settings.goesOn(7, after: 0))
  }
}
