import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// A source in its worker, with the transfers that it was given, as the coordinator would have them.
final class SourceBench {
  let runner: StageRunner
  /// Bytes that the kernel lets the worker write, and that each transfer is allowed.
  private let limit: Int64
  let folder: ScratchFolder
  private let observe: (TrialResult) -> Void
  private var underway: [UInt64: TriedTransfer] = [:]
  private var lastSerial: UInt64 = 0
  /// Lines of the trace that were looked at.
  private var seenLines = 0

  /// - Parameters:
  ///   - folder: where the transfers' files lie.
  ///   - observe: gets each end of a transfer or of the worker.
  init(
    _ runner: StageRunner, limit: Int64, _ folder: ScratchFolder,
    observe: @escaping (TrialResult) -> Void = { _ in }
  ) {
    self.runner = runner
    self.limit = limit
    self.folder = folder
    self.observe = observe
  }

  var pid: pid_t? { runner.pid }

  /// Begins a transfer.
  ///
  /// - Parameters:
  ///   - file: where the content goes; else to a new file.
  ///   - earlier: what it goes on from. Behind its last checkpoint the file gets bytes that do not count.
  func give(
    _ link: String, to file: TransferFile? = nil, from earlier: TriedTransfer? = nil
  ) throws -> TriedTransfer {
    try runner.start()
    let file = try file ?? earlier?.file ?? TransferFile(in: folder)
    let start = earlier?.progress ?? TransferProgress(bytes: 0)
    if earlier != nil { try file.scribble(after: start.bytes) }
    lastSerial += 1
    var work = TransferWork(serial: lastSerial, id: "transfer-\(lastSerial)", url: link, limit: limit)
    work.start = start
    work.attempt = earlier == nil ? 1 : 2
    let transfer = TriedTransfer(serial: lastSerial, link: link, file: file, start: start)
    underway[lastSerial] = transfer
    try runner.give(work, descriptor: file.descriptor.number)
    return transfer
  }

  func order(_ transfer: TriedTransfer, _ kind: TransferOrder.Kind) throws {
    try runner.give(TransferOrder(serial: transfer.serial, kind))
  }

  /// Listens until something holds. False: it does not after so many milliseconds.
  ///
  /// - Parameter what: what the worker is doing, for the message.
  /// - Throws: ``UnexpectedEnd`` if the worker ends.
  func listen(_ milliseconds: Int64, _ what: String, until isDone: () -> Bool) throws -> Bool {
    let start = Clock.monotonic()
    while !isDone() {
      let left = milliseconds - Int64(clamping: (Clock.monotonic() - start) / 1_000_000)
      if left < 0 { return false }
      switch try runner.hear(within: min(left, 2)) {
      case nil: continue
      case .news(let news)?:
        guard let transfer = underway[news.serial] else {
          throw end(runner.condemn(.invalidReply("news of a transfer it was not given")), what)
        }
        transfer.take(news.kind)
      case .result(let result)?:
        guard let transfer = underway.removeValue(forKey: result.serial),
          let said = result.report.results.first
        else { throw end(runner.condemn(.invalidReply("a result of a transfer it was not given")), what) }
        (transfer.result, transfer.metadata) = (said, result.report.metadata)
        hear(said, result.report.metadata)
      case .death(let death)?: throw end(death, what)
      }
    }
    return true
  }

  /// Listens until a transfer has ended.
  ///
  /// - Throws: ``UnexpectedEnd`` if it does not within the stage's `timeout`.
  func finish(_ transfer: TriedTransfer, _ what: String) throws {
    let timeout = runner.stage.timeout
    if try !listen(timeout, what, until: { transfer.result != nil }) {
      throw end(runner.condemn(.timedOut(afterMilliseconds: timeout)), what)
    }
  }

  /// Kills the worker, as a crash would.
  func kill() { runner.stop() }

  // MARK: What was seen

  /// What the source said since this was last asked, as one text for each line.
  private(set) var sayings: [String] = []

  func forgetSayings() { sayings.removeAll() }

  private var newLines: [TraceLine] {
    defer { seenLines = runner.trace.count }
    return Array(runner.trace.dropFirst(seenLines))
  }

  private func hear(_ said: StageResult, _ metadata: [Metadatum]) {
    var result = TrialResult(verdict: said.verdict.name)
    (result.code, result.message, result.metadata) = (said.code, said.message, metadata)
    result.trace = newLines
    sayings += result.trace.filter { ["explain", "annotate", "log"].contains($0.call) }.map(\.text)
    sayings += [said.message ?? ""] + metadata.map(\.value.text)
    observe(result)
  }

  private func end(_ death: WorkerDeath, _ what: String) -> UnexpectedEnd {
    var result = TrialResult(verdict: death.verdict)
    (result.code, result.death, result.trace) = (death.code, death, newLines)
    observe(result)
    underway.removeAll()
    return UnexpectedEnd(death: death, what: what, remedy: death.remedyOfSource)
  }
}

extension WorkerDeath {
  /// What the author of a source may do about it; `nil`: the same as the author of any stage.
  fileprivate var remedyOfSource: String? {
    switch cause {
    case .timedOut: "let `turn` return within its time, and settle every transfer that comes to no end"
    case .outOfMemory: "write to the file as it comes, and keep little of many transfers"
    case .outputLimit: "compare with `limit` before each write, and reject what has more"
    case .crashed, .exited: "build it with -g: then the message names function and line"
    case .programEnded, .forbiddenCall, .flooded, .tooManyThreads, .invalidReply: nil
    }
  }
}
