import Pipeline
import Testing

@testable import Control

/// Which pipelines are held to be the same.
struct PipelineAtWorkTests {
  private static func pipeline(_ change: (inout StageDefinition) -> Void = { _ in }) -> PipelineDefinition {
    let description = StageDescription(id: "size", version: "1", summary: "", file: "/proc/self/exe")
    var stage = StageDefinition(
      id: "size", description: description, values: [OptionValue(name: "max", text: "1KB")])
    change(&stage)
    return PipelineDefinition(stages: [stage], channels: [])
  }

  @Test func whatDecidesOtherwiseIsAnother() throws {
    let same = try PipelineAtWork.fingerprint(of: Self.pipeline())
    #expect(try PipelineAtWork.fingerprint(of: Self.pipeline()) == same)
    let changes: [(inout StageDefinition) -> Void] = [
      { $0.id = "length" }, { $0.values[0].text = "2KB" }, { $0.values[0].key = "image/*" },
      { $0.values.append(OptionValue(name: "min", text: "1")) }, { $0.description.version = "2" },
      { $0.description.file = "/dev/null" }, { $0.timeout += 1 }, { $0.onCrash = .reject },
      { $0.conditions = [MediaTypePattern("image/*")].compactMap(\.self) },
    ]
    for (number, change) in changes.enumerated() {
      #expect(try PipelineAtWork.fingerprint(of: Self.pipeline(change)) != same, "change \(number)")
    }
    var more = Self.pipeline()
    more.retry.attempts += 1
    #expect(try PipelineAtWork.fingerprint(of: more) != same)
    more = Self.pipeline()
    more.channels = [ChannelDefinition(name: "events", stage: more.stages[0])]
    #expect(try PipelineAtWork.fingerprint(of: more) != same)
    // What it is served by, and how many workers there are, decides nothing.
    more = Self.pipeline()
    (more.workers, more.serve.uploads) = (7, 1)
    #expect(try PipelineAtWork.fingerprint(of: more) == same)
  }
}
