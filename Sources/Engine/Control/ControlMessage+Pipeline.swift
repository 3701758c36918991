import Wire

// Which pipeline the coordinator works with: the question, and the answer.
extension ControlMessage {
  /// The longest path and fingerprint, in bytes.
  private static let pipelineTextLimit = 8192

  static func pipelineQuestion() -> [UInt8] { FrameWriter(.pipelineQuestion).bytes }

  /// Whether a client asks which pipeline the coordinator works with.
  static func isPipelineQuestion(_ message: UnsafeRawBufferPointer) throws(FrameError) -> Bool {
    var reader = FrameReader(message)
    guard try reader.kind() == .pipelineQuestion else { return false }
    try reader.end()
    return true
  }

  /// - Parameter pipeline: `nil`: it has none yet.
  static func pipeline(_ pipeline: PipelineAtWork?) -> [UInt8] {
    var writer = FrameWriter(.pipeline)
    writer.write(pipeline?.file)
    writer.write(pipeline?.fingerprint)
    writer.write(pipeline?.process ?? 0)
    writer.write(pipeline?.isResident ?? false)
    return writer.bytes
  }

  /// Reads the coordinator's answer: its pipeline, or why it disconnects the client.
  static func pipelineAnswer(
    _ message: UnsafeRawBufferPointer
  ) throws(FrameError) -> Swift.Result<PipelineAtWork?, ControlRefusal> {
    var reader = FrameReader(message)
    switch try reader.kind() {
    case .declined:
      return .failure(ControlRefusal(reason: try reader.requiredText(atMost: pipelineTextLimit)))
    case .pipeline: break
    default: throw FrameError("a message that has no place here")
    }
    let file = try reader.text(atMost: pipelineTextLimit)
    let fingerprint = try reader.text(atMost: pipelineTextLimit)
    let (process, isResident) = (try reader.integer(Int32.self), try reader.boolean())
    try reader.end()
    guard let file, let fingerprint else { return .success(nil) }
    return .success(
      PipelineAtWork(file: file, fingerprint: fingerprint, process: process, isResident: isResident))
  }
}
