import Pipeline
import Platform
import Testing

struct LinePlanTests {
  private static func stage(
    _ capability: StageDescription.Capability, _ role: StageDescription.Role = .line,
    _ isolation: Isolation = .worker
  ) -> StageDefinition {
    var description = StageDescription(id: "x", version: "1", summary: "", file: "")
    description.capability = capability
    description.role = role
    var stage = StageDefinition(id: "x", description: description, values: [])
    stage.isolation = isolation
    return stage
  }

  private static func ranges(_ stages: [StageDefinition]) -> [Range<Int>] {
    LinePlan(stages).groups.map(\.stages)
  }

  @Test func consecutiveStagesOfOneCapabilityShareAWorker() {
    let plan = LinePlan([
      Self.stage(.content), Self.stage(.content), Self.stage(.store), Self.stage(.content),
    ])
    #expect(plan.groups.map(\.stages) == [0..<2, 2..<3, 3..<4])
    #expect(plan.groups.map(\.capability) == [.content, .store, .content])
    #expect(plan.groups.allSatisfy { !$0.isFresh })
  }

  @Test func aFreshStageSharesWithNobody() {
    let stages = [Self.stage(.content), Self.stage(.content, .line, .fresh), Self.stage(.content)]
    #expect(Self.ranges(stages) == [0..<1, 1..<2, 2..<3])
    #expect(LinePlan(stages).groups.map(\.isFresh) == [false, true, false])
  }

  /// Others in its worker would have one attachment in hand at a time.
  @Test func aStageThatWorksOnManyAtOnceHasAWorkerToItself() {
    var turning = Self.stage(.network)
    turning.description.turns = true
    let stages = [Self.stage(.network), turning, Self.stage(.network), Self.stage(.network)]
    #expect(Self.ranges(stages) == [0..<1, 1..<2, 2..<4])
    #expect(Self.ranges([turning, turning]) == [0..<1, 1..<2])
  }

  @Test func twoFreshStagesAreTwoProcesses() {
    #expect(
      Self.ranges([Self.stage(.content, .line, .fresh), Self.stage(.content, .line, .fresh)]) == [
        0..<1, 1..<2,
      ])
  }

  /// In the worker of a stage that stores, it could write to the store.
  @Test func aStageAtTheEndSharesNoWorkerThatMayDoMore() {
    let plan = LinePlan([Self.stage(.store), Self.stage(.content, .end)])
    #expect(plan.groups.map(\.stages) == [0..<1, 1..<2])
    #expect(plan.groups.last?.capability == .content)
  }

  /// The outcome is decided before stages at the end run.
  @Test func aStageAtTheEndSharesAWorkerWithOthersAtTheEndOnly() {
    let stages = [Self.stage(.content), Self.stage(.content, .end), Self.stage(.content, .end)]
    #expect(Self.ranges(stages) == [0..<1, 1..<3])
  }

  /// Its worker waits for it, and ends with it.
  @Test func aProgramSharesItsWorkerWithNoOtherStage() {
    var program = Self.stage(.content)
    program.description.program = Program(command: ["x"], folder: "/")
    let other = Self.stage(.content)
    #expect(Self.ranges([other, program, program, other, other]) == [0..<1, 1..<2, 2..<3, 3..<5])
  }

  @Test func aStageAtTheEndThatNeedsMoreGetsAWorkerOfItsOwn() {
    #expect(Self.ranges([Self.stage(.content), Self.stage(.network, .end)]) == [0..<1, 1..<2])
  }

  @Test func eachStageIsInOneGroup() {
    var random = SplitMix(state: 11)
    for _ in 0..<300 {
      let count = Int.random(in: 0...8, using: &random)
      let stages = (0..<count).map { _ in
        Self.stage(
          StageDescription.Capability.allCases.randomElement(using: &random) ?? .content,
          Bool.random(using: &random) ? .line : .end, Bool.random(using: &random) ? .worker : .fresh)
      }
      let plan = LinePlan(stages)
      #expect(plan.groups.flatMap { Array($0.stages) } == Array(stages.indices))
      for index in stages.indices {
        #expect(plan.group(of: index).map { plan.groups[$0].stages.contains(index) } == true)
      }
      #expect(plan.group(of: count) == nil)
    }
  }

  @Test func aConditionDecidesWhetherAStageRuns() throws {
    var stage = Self.stage(.content)
    #expect(stage.runs(for: nil) && stage.runs(for: "image/png"))
    stage.conditions = [
      try #require(MediaTypePattern("image/*")), try #require(MediaTypePattern("text/plain")),
    ]
    #expect(stage.runs(for: "image/png") && stage.runs(for: "text/plain"))
    #expect(!stage.runs(for: "text/html") && !stage.runs(for: nil))
  }
}
