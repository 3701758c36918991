import Pipeline
import Testing

struct LengthLimitTests {
  private static func stage(_ id: String, _ change: (inout StageDefinition) -> Void = { _ in })
    -> StageDefinition
  {
    let description = StageDescription(id: id, version: "1.0.0", summary: "It is a stage.", file: "/x")
    var stage = StageDefinition(id: id, description: description, values: [])
    change(&stage)
    return stage
  }

  private static func rejection(_ size: Int64, _ stages: [StageDefinition]) -> String? {
    let limits = [
      "size": LengthLimit(bytes: 10, code: "too-large"),
      "scan": LengthLimit(bytes: 5, code: "too-large-to-scan"),
    ]
    return LengthLimit.rejection(of: size, by: stages) { limits[stages[$0].description.id] }?.code
  }

  @Test func whatIsLongerThanAStageTakesIsRejectedByIt() {
    let stages = [Self.stage("mime"), Self.stage("size"), Self.stage("scan")]
    #expect(Self.rejection(10, [stages[0], stages[1]]) == nil)
    #expect(Self.rejection(11, stages) == "too-large")
    #expect(Self.rejection(6, stages) == "too-large-to-scan")
    #expect(Self.rejection(5, stages) == nil)
  }

  @Test func aStageWithAConditionMayNotRunAndDoesNotCount() {
    let size = Self.stage("size") { $0.conditions = [MediaTypePattern("image/*")].compactMap(\.self) }
    #expect(Self.rejection(11, [size]) == nil)
  }

  @Test func whatComesAfterNewContentIsAskedOfTheNewContent() {
    let text = Self.stage("text") { $0.description.produces = true }
    #expect(Self.rejection(11, [text, Self.stage("size")]) == nil)
    #expect(Self.rejection(11, [Self.stage("size"), text]) == "too-large")
  }

  @Test func aStageAtTheEndRejectsNothingForItsLength() {
    #expect(Self.rejection(11, [Self.stage("size") { $0.description.role = .end }]) == nil)
  }
}
