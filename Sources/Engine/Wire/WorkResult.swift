import Pipeline

/// A worker's results for one piece of work. The worker has parsed hostile content, so its results are
/// trusted for its own attachment only.
public struct WorkResult: Sendable {
  public var serial: UInt64
  public var report = StageReport()

  public init(serial: UInt64) {
    self.serial = serial
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.result)
    writer.write(serial)
    writer.write(report.results) { writer, stage in
      writer.write(UInt8(stage.index))
      writer.write(stage.verdict.rawValue)
      writer.write(stage.code)
      writer.write(stage.message)
      writer.write(stage.microseconds)
      writer.write(stage.retryAfter ?? -1)
      writer.write(stage.pausesLane)
    }
    writer.write(report.metadata) { writer, datum in
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
    writer.write(report.mediaType)
    writer.write(report.location)
    writer.write(report.emissions) { writer, emission in
      writer.write(emission.type)
      writer.write(emission.channel)
      writer.write(emission.audience.rawValue)
    }
    writer.write(report.remarks) { writer, remark in
      writer.write(UInt8(remark.index))
      writer.write(remark.level.rawValue)
      writer.write(remark.text)
    }
    writer.write(report.produced)
    writer.write(report.pieceList?.lowerBound ?? -1)
    writer.write(report.pieceList?.upperBound ?? -1)
    return writer.bytes
  }

  /// Reads what follows the kind, and checks every bound.
  ///
  /// - Parameter stageCount: how many stages the worker has.
  public init(_ reader: inout FrameReader, stageCount: Int) throws(FrameError) {
    serial = try reader.integer(UInt64.self)
    report.results = try reader.elements(atMost: stageCount) { (reader) throws(FrameError) -> StageResult in
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
      return StageResult(
        index: index, verdict: verdict, code: code, message: message, microseconds: max(microseconds, 0),
        retryAfter: retryAfter >= 0 ? min(retryAfter, 30 * 86_400_000) : nil, pausesLane: try reader.boolean()
      )
    }
    report.metadata = try reader.elements(atMost: 512) { (reader) throws(FrameError) -> Metadatum in
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
    report.mediaType = try reader.text(atMost: 256)
    if let mediaType = report.mediaType, !MediaTypePattern.isMediaType(mediaType) {
      throw FrameError("a media type that is none")
    }
    report.location = try reader.text(atMost: 1024)
    if let location = report.location, !PathTemplate.isPath(location) {
      throw FrameError("a place in the store that cannot be one")
    }
    report.emissions = try reader.elements(atMost: 64) { (reader) throws(FrameError) -> Emission in
      let type = try reader.requiredText(atMost: 128)
      let channel = try reader.requiredText(atMost: 128)
      guard let audience = Emission.Audience(rawValue: try reader.integer(UInt32.self)) else {
        throw FrameError("unknown audience")
      }
      return Emission(type: type, channel: channel, audience: audience)
    }
    report.remarks = try reader.elements(atMost: Remark.limits.count) {
      (reader) throws(FrameError) -> Remark in
      let index = Int(try reader.integer(UInt8.self))
      guard index < stageCount, let level = LogLevel(rawValue: try reader.integer(UInt32.self)) else {
        throw FrameError("a remark of no stage, or of no level")
      }
      // Bytes that are not UTF-8 take three each once they are.
      return Remark(
        index: index, level: level, text: try reader.requiredText(atMost: Remark.limits.length * 3))
    }
    report.produced = try reader.boolean()
    let listStart = try reader.integer(Int64.self)
    let listEnd = try reader.integer(Int64.self)
    if listStart != -1 || listEnd != -1 {
      guard listStart >= 0, listEnd > listStart, listEnd - listStart <= PieceList.limit else {
        throw FrameError("a list of pieces that cannot be one")
      }
      report.pieceList = listStart..<listEnd
    }
    try reader.end()
  }
}
