import Scheduler
import Wire

// What the workers do: the question, and the answer.
extension ControlMessage {
  /// Groups of an answer, and bytes of a text in it.
  private static let limits = (groups: 1000, transfers: 1000, text: 4096)

  /// What a client wants with its question.
  enum Interest {
    case looks
    /// It waits for what is queued, or watches, and asks each second.
    case attends
  }

  static func workersQuestion(_ interest: Interest) -> [UInt8] {
    var writer = FrameWriter(.workersQuestion)
    writer.write(interest == .attends)
    return writer.bytes
  }

  /// Why a client asks what the workers do; `nil`: the message is another.
  static func readQuestion(_ message: UnsafeRawBufferPointer) throws(FrameError) -> Interest? {
    var reader = FrameReader(message)
    guard try reader.kind() == .workersQuestion else { return nil }
    let attends = try reader.boolean()
    try reader.end()
    return attends ? .attends : .looks
  }

  static func workers(_ workers: WorkersAtWork) -> [UInt8] {
    var writer = FrameWriter(.workers)
    writer.write(workers.groups) { writer, group in
      writer.write(group.name)
      writer.write(UInt32(clamping: group.busy))
      writer.write(UInt32(clamping: group.total))
    }
    writer.write(workers.longest?.stage)
    writer.write(workers.longest?.attachmentId)
    writer.write(workers.longest?.fileName)
    writer.write(workers.longest?.since ?? 0)
    writer.write(workers.downloads != nil)
    writer.write(workers.downloads?.rate ?? 0)
    writer.write(Array((workers.downloads?.transfers ?? []).prefix(limits.transfers))) { writer, transfer in
      writer.write(transfer.fileName)
      writer.write(transfer.link)
      writer.write(transfer.bytes)
      writer.write(transfer.total ?? -1)
      writer.write(transfer.isHeld)
    }
    return writer.bytes
  }

  /// Reads the coordinator's answer: what the workers do, or why it disconnects the client.
  static func workersAnswer(
    _ message: UnsafeRawBufferPointer
  ) throws(FrameError) -> Swift.Result<WorkersAtWork, ControlRefusal> {
    var reader = FrameReader(message)
    switch try reader.kind() {
    case .declined:
      return .failure(ControlRefusal(reason: try reader.requiredText(atMost: limits.text)))
    case .workers: break
    default: throw FrameError("a message that has no place here")
    }
    let groups = try reader.elements(atMost: limits.groups) { (reader) throws(FrameError) in
      let name = try reader.requiredText(atMost: limits.text)
      return WorkersAtWork.Group(
        name, busy: Int(try reader.integer(UInt32.self)), total: Int(try reader.integer(UInt32.self)))
    }
    let (stage, id) = (try reader.text(atMost: limits.text), try reader.text(atMost: limits.text))
    let name = try reader.text(atMost: limits.text)
    let since = try reader.integer(Int64.self)
    let (fetches, rate) = (try reader.boolean(), try reader.integer(Int64.self))
    let transfers = try reader.elements(atMost: limits.transfers) { (reader) throws(FrameError) in
      let name = try reader.requiredText(atMost: limits.text)
      let link = try reader.requiredText(atMost: limits.text)
      let (bytes, total) = (try reader.integer(Int64.self), try reader.integer(Int64.self))
      return DownloadsAtWork.Transfer(
        fileName: name, link: link, bytes: bytes, total: total < 0 ? nil : total, isHeld: try reader.boolean()
      )
    }
    try reader.end()
    var workers = WorkersAtWork(
      groups, longest: nil, downloads: fetches ? DownloadsAtWork(transfers, rate: rate) : nil)
    if let stage, let id, let name {
      workers.longest = .init(stage: stage, attachmentId: id, fileName: name, since: since)
    }
    return .success(workers)
  }
}
