import Pipeline

/// What a worker says of one piece of work. Written by a process that has parsed hostile content: believed no further
/// than its own attachment.
public struct WorkResult: Sendable {
  /// What one stage said. A stage whose condition did not hold is not listed.
  public struct Stage: Sendable {
    /// Its place among the worker's stages.
    public var index: Int
    public var verdict: Verdict
    public var code: String?
    public var message: String?
    public var microseconds: Int64
    /// Not before so many milliseconds.
    public var retryAfter: Int64?
    public var pausesLane: Bool

    public init(
      index: Int, verdict: Verdict, code: String?, message: String?, microseconds: Int64,
      retryAfter: Int64? = nil,
      pausesLane: Bool = false
    ) {
      self.index = index
      self.verdict = verdict
      self.code = code
      self.message = message
      self.microseconds = microseconds
      self.retryAfter = retryAfter
      self.pausesLane = pausesLane
    }
  }

  /// An event to record with the outcome, for each recipient of its audience.
  public struct Emission: Sendable, Equatable {
    public enum Audience: UInt32, Sendable {
      case participants = 1, sender, everyone
    }

    public var type: String
    public var channel: String
    public var audience: Audience

    public init(type: String, channel: String, audience: Audience) {
      self.type = type
      self.channel = channel
      self.audience = audience
    }
  }

  public var serial: UInt64
  public var stages: [Stage]
  public var metadata: [Metadatum]
  public var mediaType: String?
  public var location: String?
  public var emissions: [Emission]
  /// Whether a stage wrote new content to the descriptor it was given.
  public var produced: Bool

  public init(serial: UInt64) {
    self.serial = serial
    stages = []
    metadata = []
    emissions = []
    produced = false
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.result)
    writer.write(serial)
    writer.write(stages) { writer, stage in
      writer.write(UInt8(stage.index))
      writer.write(stage.verdict.rawValue)
      writer.write(stage.code)
      writer.write(stage.message)
      writer.write(stage.microseconds)
      writer.write(stage.retryAfter ?? -1)
      writer.write(stage.pausesLane)
    }
    writer.write(metadata) { writer, datum in
      writer.write(datum.key)
      switch datum.value {
      case .text(let value):
        writer.write(UInt8(0))
        writer.write(value)
      case .integer(let value):
        writer.write(UInt8(1))
        writer.write(value)
      case .number(let value):
        writer.write(UInt8(2))
        writer.write(value)
      case .boolean(let value):
        writer.write(UInt8(3))
        writer.write(value)
      }
    }
    writer.write(mediaType)
    writer.write(location)
    writer.write(emissions) { writer, emission in
      writer.write(emission.type)
      writer.write(emission.channel)
      writer.write(emission.audience.rawValue)
    }
    writer.write(produced)
    return writer.bytes
  }

  /// Reads what follows the kind, bounding everything.
  ///
  /// - Parameter stageCount: how many stages the worker has.
  public init(_ reader: inout FrameReader, stageCount: Int) throws(FrameError) {
    serial = try reader.integer(UInt64.self)
    stages = try reader.elements(atMost: stageCount) { (reader) throws(FrameError) -> Stage in
      let index = Int(try reader.integer(UInt8.self))
      guard index < stageCount else { throw FrameError("a result of stage \(index) of \(stageCount)") }
      guard let verdict = Verdict(rawValue: try reader.integer(Int32.self)) else {
        throw FrameError("unknown verdict")
      }
      let code = try reader.text(atMost: 128)
      if let code, !PlainName.isOne(code) { throw FrameError("a code that is none") }
      let message = try reader.text(atMost: 4096)
      let microseconds = try reader.integer(Int64.self)
      let retryAfter = try reader.integer(Int64.self)
      return Stage(
        index: index, verdict: verdict, code: code, message: message, microseconds: max(microseconds, 0),
        retryAfter: retryAfter >= 0 ? min(retryAfter, 30 * 86_400_000) : nil, pausesLane: try reader.boolean()
      )
    }
    metadata = try reader.elements(atMost: 512) { (reader) throws(FrameError) -> Metadatum in
      let key = try reader.requiredText(atMost: 128)
      guard PlainName.isOne(key) else { throw FrameError("a key that is none") }
      switch try reader.integer(UInt8.self) {
      case 0: return Metadatum(key: key, value: .text(try reader.requiredText(atMost: 4096)))
      case 1: return Metadatum(key: key, value: .integer(try reader.integer(Int64.self)))
      case 2:
        let number = try reader.number()
        guard number.isFinite else { throw FrameError("a number that is not finite") }
        return Metadatum(key: key, value: .number(number))
      case 3: return Metadatum(key: key, value: .boolean(try reader.boolean()))
      default: throw FrameError("unknown kind of metadata")
      }
    }
    mediaType = try reader.text(atMost: 256)
    if let mediaType, !MediaTypePattern.isMediaType(mediaType) {
      throw FrameError("a media type that is none")
    }
    location = try reader.text(atMost: 1024)
    if let location, !PathTemplate.isPath(location) {
      throw FrameError("a place in the store that cannot be one")
    }
    emissions = try reader.elements(atMost: 64) { (reader) throws(FrameError) -> Emission in
      let type = try reader.requiredText(atMost: 128)
      let channel = try reader.requiredText(atMost: 128)
      guard let audience = Emission.Audience(rawValue: try reader.integer(UInt32.self)) else {
        throw FrameError("unknown audience")
      }
      return Emission(type: type, channel: channel, audience: audience)
    }
    produced = try reader.boolean()
    try reader.end()
  }
}
