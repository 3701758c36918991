import Pipeline
import Testing

@testable import Scheduler

/// What a group's stages rest on: the ledger keeps it as text.
struct FingerprintTests {
  private func fingerprint(isSecret: Bool) -> String? {
    let description = StageDescription(id: "words", version: "1.0.0", summary: "", file: "/nowhere")
    var value = OptionValue(name: "word", text: "CANARY")
    value.isSecret = isSecret
    let stage = StageDefinition(id: "words", description: description, values: [value])
    let group = WorkerGroup(
      purpose: .line(0..<1), stages: [stage], capability: .content, isFresh: false, limit: 1)
    return group.fingerprint(PipelineDefinition(stages: [stage], channels: []), ["basis"])
  }

  @Test func itHasTheOptionsOfItsStages() {
    #expect(fingerprint(isSecret: false)?.contains("CANARY") == true)
  }

  @Test func aStageWithASecretOptionHasNone() {
    #expect(fingerprint(isSecret: true) == nil)
  }
}
