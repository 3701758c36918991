import Pipeline

/// A worker's answer to its setup: the stages are open and the sandbox is closed.
public struct Ready: Sendable {
  /// The parts of the sandbox in force, as bits.
  public var sandbox: UInt32

  public init(sandbox: UInt32) {
    self.sandbox = sandbox
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.ready)
    writer.write(sandbox)
    return writer.bytes
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    sandbox = try reader.integer(UInt32.self)
    try reader.end()
  }
}

/// A worker that cannot be what its setup says, and why.
public struct Refusal: Error, Sendable {
  /// The id of the stage at fault, if one is.
  public var stage: String?
  public var message: String

  public init(stage: String?, message: String) {
    self.stage = stage
    self.message = message
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.refusal)
    writer.write(stage)
    writer.write(message)
    return writer.bytes
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    stage = try reader.text(atMost: 256)
    message = try reader.requiredText(atMost: 8192)
    try reader.end()
  }
}
