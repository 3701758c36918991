import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Platform
import Scheduler
import Wire

/// A client that passes commands to the coordinator of a home. Used by one thread.
public final class ControlClient {
  private let descriptor: Int32
  private var inbox = ControlInbox()

  /// Milliseconds to wait for an answer. The coordinator answers after a sync of the disk.
  private static let answerTimeout: Int32 = 60_000

  /// Connects to the coordinator that holds the home.
  ///
  /// Throws a `SystemError`: ECONNREFUSED or ENOENT if no coordinator listens, ETIMEDOUT if one listens and
  /// accepts no client for ten seconds; or a `ControlRefusal`.
  public convenience init(_ home: Home) throws {
    try self.init(home, welcomeWithin: ControlSocket.welcomeTimeout)
  }

  /// - Parameter patience: milliseconds to wait to be accepted.
  private init(_ home: Home, welcomeWithin patience: Int32) throws {
    descriptor = try ControlSocket.connect(home, within: patience).release()
    try receive { message throws(FrameError) in try ControlMessage.letsIn(message) }.get()
    sluice_limit_receiving(descriptor, Self.answerTimeout)
  }

  deinit {
    close(descriptor)
  }

  /// Sends files, and returns once they are on record. If it throws, some may be on record all the same;
  /// sending them again does no harm.
  public func enqueue(_ items: [IntakeItem]) throws -> IntakeReport {
    var report = IntakeReport()
    // A message has room for four lines of a manifest of maximum length.
    var start = 0
    while start < items.count {
      var end = start
      var bytes = 0
      while end < items.count, end - start < ControlMessage.itemLimit, bytes < ControlMessage.limit / 4 {
        bytes += ControlMessage.size(of: items[end])
        end += 1
      }
      for case .takenIn(let part) in try apply([.takeIn(Array(items[start..<end]))]) { report.add(part) }
      start = end
    }
    return report
  }

  /// Sends commands in one message, and returns their results once they are on record. If it throws, they may be on record or not.
  public func apply(_ commands: [Command]) throws -> [CommandResult] {
    try write(ControlMessage.framed(ControlMessage.commands(commands)))
    let results = try receive { message throws(FrameError) in try ControlMessage.answer(message) }.get()
    if results.count == commands.count { return results }
    throw FrameError("\(results.count) results for \(commands.count) commands")
  }

  /// What the workers of a home do now; `nil`: no coordinator answers within so many milliseconds, twice at most, or it is of a
  /// version that does not know the question.
  ///
  /// - Parameter isAttending: the caller waits for what is queued, or watches, and asks each second: some pipelines fetch links only
  ///   meanwhile.
  public static func workersAtWork(
    _ home: Home, within patience: Int32, isAttending: Bool = false
  ) -> WorkersAtWork? {
    // A coordinator that is stopped or busy does not answer in time: `status` then shows the rest without this.
    guard let client = try? ControlClient(home, welcomeWithin: patience) else { return nil }
    sluice_limit_receiving(client.descriptor, patience)
    return try? client.workersAtWork(isAttending ? .attends : .looks)
  }

  private func workersAtWork(_ interest: ControlMessage.Interest) throws -> WorkersAtWork {
    try write(ControlMessage.framed(ControlMessage.workersQuestion(interest)))
    return try receive { message throws(FrameError) in try ControlMessage.workersAnswer(message) }.get()
  }

  /// Which pipeline the coordinator works with; `nil`: it has none yet.
  ///
  /// Throws a `ControlRefusal` if it is of a version that does not know the question.
  public func pipelineAtWork() throws -> PipelineAtWork? {
    try write(ControlMessage.framed(ControlMessage.pipelineQuestion()))
    return try receive { message throws(FrameError) in try ControlMessage.pipelineAnswer(message) }.get()
  }

  /// Waits for the next message.
  private func receive<Answer>(_ read: (UnsafeRawBufferPointer) throws(FrameError) -> Answer) throws -> Answer
  {
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      if let message = try inbox.next() {
        return try message.withUnsafeBytes { bytes throws(FrameError) in try read(bytes) }
      }
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 && errno == EAGAIN {
        throw SystemError("hearing from the coordinator", code: ETIMEDOUT)
      }
      if count < 0 { throw SystemError("hearing from the coordinator") }
      if count == 0 { throw SystemError("hearing from the coordinator", code: ECONNRESET) }
      piece.withUnsafeBytes { inbox.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }

  private func write(_ bytes: [UInt8]) throws(SystemError) {
    var start = 0
    while start < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          descriptor, $0.baseAddress?.advanced(by: start), bytes.count - start, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      if count < 0 {
        // The coordinator may have sent the reason before it disconnected.
        if errno == EPIPE || errno == ECONNRESET { return }
        throw SystemError("talking to the coordinator", code: errno == EAGAIN ? ETIMEDOUT : errno)
      }
      start += count
    }
  }
}
