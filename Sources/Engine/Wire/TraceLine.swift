/// One call between a stage and its host, sent at once by a traced worker.
public struct TraceLine: Sendable, Equatable {
  /// The stage's id in this pipeline.
  public var stage: String
  /// The call, by its name in the contract: `annotate`, `explain`, `open`, `process`.
  public var call: String
  /// The arguments of the call, and its result.
  public var text: String

  /// Replaces the call's name if the stage breaks the contract and its call was dropped.
  public static let complaint = "dropped"

  /// Longer texts are cut.
  public static let limit = 1000

  public init(stage: String, call: String, text: String) {
    self.stage = stage
    self.call = call
    self.text = text
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.trace)
    for text in [stage, call, text] { writer.write(text) }
    return writer.bytes
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    stage = try reader.requiredText(atMost: 256)
    call = try reader.requiredText(atMost: 64)
    text = try reader.requiredText(atMost: Self.limit * 4)
    try reader.end()
  }
}
