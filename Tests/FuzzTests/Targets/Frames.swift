import Pipeline
import Wire

extension FuzzTarget {
  /// Frames of a worker, read by the coordinator.
  static let workerFrames = FuzzTarget(name: "worker-frames") { bytes in
    guard let read = try frame(bytes, fromWorker) else { return }
    try demand(try frame(read, fromWorker) == read, "what was accepted is not, once it is written again")
  }

  /// Frames of the coordinator, read by a worker.
  static let coordinatorFrames = FuzzTarget(name: "coordinator-frames") { bytes in
    guard let read = try frame(bytes, fromCoordinator) else { return }
    try demand(try frame(read, fromCoordinator) == read, "what was accepted is not, once it is written again")
  }

  /// The frame read and written again; `nil` if it is refused.
  private static func frame(
    _ bytes: [UInt8], _ read: (inout FrameReader, UnsafeRawBufferPointer) throws -> [UInt8]
  ) throws -> [UInt8]? {
    do {
      return try bytes.withUnsafeBytes { buffer in
        var reader = FrameReader(buffer)
        return try read(&reader, buffer)
      }
    } catch is FrameError {
      return nil
    }
  }

  // MARK: From a worker

  private static let stageCount = 3

  private static func fromWorker(
    _ reader: inout FrameReader, _ buffer: UnsafeRawBufferPointer
  ) throws -> [UInt8] {
    switch try reader.kind() {
    case .result:
      let result = try WorkResult(&reader, stageCount: stageCount)
      try check(result)
      return result.frame
    case .description:
      let description = try StageDescription(&reader, file: "x.so")
      try check(description)
      return description.frame
    case .ready: return try Ready(&reader).frame
    case .refusal:
      let refusal = try Refusal(&reader)
      try demand(refusal.message.utf8.count <= 8192, "a message of \(refusal.message.utf8.count) bytes")
      return refusal.frame
    case .trace: return try TraceLine(&reader).frame
    case .news: return try TransferNews(&reader).frame
    case .fault: return try ProgramFault(&reader).frame
    case .pieces: return PieceList.bytes(of: try PieceList.read(&reader, end: 1 << 20))
    case .setup, .work, .transfer, .order, .question, .commands, .results, .declined, .welcome,
      .workersQuestion, .workers, .pipelineQuestion, .pipeline, .serve, .reply, .replies, .part, .parts,
      .finish, .takeBody, .store, .abort,
      .drain, .inform, .serving, .request, .requests, .body, .cut, .stored, .ended, .doors, .take,
      .answer, .close, .open, .asked, .taken, .left:
      throw FrameError("not from a worker")
    }
  }

  /// The limits that the rest of the coordinator relies on.
  private static func check(_ result: WorkResult) throws(Violation) {
    for stage in result.report.results {
      try demand((0..<stageCount).contains(stage.index), "stage \(stage.index) of \(stageCount)")
      try demand(stage.microseconds >= 0, "it took \(stage.microseconds) µs")
      try demand((0...30 * 86_400_000).contains(stage.retryAfter ?? 0), "wait \(stage.retryAfter ?? 0) ms")
      try demand(stage.code.map(PlainName.isOne) ?? true, "the code \(stage.code ?? "")")
      try demand(
        stage.message?.utf8.count ?? 0 <= 4096, "a message of \(stage.message?.utf8.count ?? 0) bytes")
    }
    try demand(
      result.report.metadata.count <= 512 && result.report.emissions.count <= 64
        && result.report.remarks.count <= 16, "too many of something")
    for datum in result.report.metadata {
      try demand(PlainName.isOne(datum.key), "the key \(datum.key)")
      if case .number(let number) = datum.value { try demand(number.isFinite, "the number \(number)") }
      try demand(datum.value.text.utf8.count <= 4096, "a value of \(datum.value.text.utf8.count) bytes")
    }
    if let type = result.report.mediaType {
      try demand(MediaTypePattern.isMediaType(type) && type.utf8.count <= 256, "the media type \(type)")
    }
    if let path = result.report.location { try demand(isWithinStore(path), "the location \(path)") }
  }

  private static func check(_ description: StageDescription) throws(Violation) {
    let names = description.options.map(\.name) + description.keys.map(\.name) + description.codes.map(\.name)
    try demand(names.allSatisfy { $0.utf8.count <= 128 }, "a name of more than 128 bytes")
    try demand(description.summary.utf8.count <= 4096, "a summary of \(description.summary.utf8.count) bytes")
  }

  // MARK: From the coordinator

  private static func fromCoordinator(
    _ reader: inout FrameReader, _ buffer: UnsafeRawBufferPointer
  ) throws -> [UInt8] {
    switch try reader.kind() {
    case .setup:
      let setup = try Setup(&reader)
      try demand(setup.stages.count <= 64, "\(setup.stages.count) stages")
      return setup.frame
    case .question: return try PluginQuestion(&reader).frame
    case .order: return try TransferOrder(&reader).frame
    case .work:
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count, alignment: 8)
      copy.copyMemory(from: buffer)
      var rest = FrameReader(UnsafeRawBufferPointer(copy))
      _ = try rest.kind()
      let input: WorkInput
      do throws(FrameError) {
        input = try WorkInput(rest, in: copy, descriptors: [])
      } catch {
        copy.deallocate()
        throw error
      }
      try check(input, in: UnsafeRawBufferPointer(copy))
      return Array(buffer)
    default: throw FrameError("not for a worker")
    }
  }

  /// Checks that every text ends within the frame.
  private static func check(_ input: WorkInput, in frame: UnsafeRawBufferPointer) throws(Violation) {
    let raw = input.attachment.pointee
    var texts = [
      raw.id, raw.conversation_id, raw.message_id, raw.sender_id, raw.file_name, raw.declared_type,
      raw.media_type, raw.sha256, raw.twin, raw.reason_stage, raw.reason_code, raw.reason_message,
    ]
    if let event = raw.event?.pointee {
      texts += [event.id, event.type, event.recipient]
      texts.append(event.body)
    }
    for datum in input.metadata { texts += [datum.key, datum.value] }
    for case let text? in texts {
      let start = UnsafeRawPointer(text) - (frame.baseAddress ?? UnsafeRawPointer(text))
      try demand(frame.indices.contains(start) && frame[start...].contains(0), "a text that leaves the frame")
    }
    withExtendedLifetime(input) {}
  }
}
