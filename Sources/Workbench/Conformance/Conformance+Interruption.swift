import Glibc
import Pipeline
import Platform
import Wire
import Workers

// Checks of transfers that are stopped, held or killed, and of what a source keeps of many.
extension Conformance {
  /// Milliseconds that a source has to end a transfer; the same as the scheduler's.
  private static let stopTimeout: Int64 = 5000
  /// Milliseconds in which a transfer may pass though it was told to stop: its end crossed the order.
  private static let crossing: Int64 = 1000
  /// Milliseconds in which a source that gets something tells a checkpoint, and some more.
  private static let checkpointTime: Int64 = 3000
  /// Milliseconds for what is on its way when a transfer is held, and then without a byte.
  private static let settling: Int64 = 300
  private static let stillness: Int64 = 500

  /// Bytes of a file that are its middle, where it has twice as many.
  private static let middle: Int64 = 512 << 10

  private static let tooFast =
    "it ended before it could be interrupted in the middle; with a larger or slower --link the check sees more"

  func stop() throws -> Check.Result {
    try interrupt("stopped, and gone on") { bench, transfer in
      let (seen, told) = (transfer.file.size, transfer.checkpoints.count)
      let start = Clock.monotonic()
      try bench.order(transfer, .stop)
      guard try bench.listen(Self.stopTimeout, "told to stop", until: { transfer.result != nil }) else {
        return .failed(
          "told to stop, a transfer says nothing for \(Interval.text(Self.stopTimeout))",
          remedy:
            "settle it in `stop`, or in the `turn` that follows, with any verdict: the host ends the worker otherwise"
        )
      }
      let milliseconds = Int64(clamping: (Clock.monotonic() - start) / 1_000_000)
      if transfer.isPassed && milliseconds > Self.crossing {
        return .failed(
          "told to stop, a transfer goes on to its end, for \(Interval.text(milliseconds))",
          remedy: "in `stop` sync what has come, tell how far that is, and settle the transfer")
      }
      if !transfer.isPassed && transfer.checkpoints.count == told && seen > transfer.progress.bytes {
        return .failed(
          "told to stop with \(Count.text(seen, "byte")) in the file, it tells no checkpoint; the last was \(transfer.progress.bytes)",
          remedy: "in `stop` sync what has come and tell how far that is: what is not told is fetched again")
      }
      return nil
    }
  }

  func killed() throws -> Check.Result {
    try interrupt("after a kill") { bench, transfer in
      // What it told before counts: something, after the time in which it is to tell.
      if transfer.hasBytes {
        _ = try bench.listen(
          Self.checkpointTime, "fetched", until: { transfer.result != nil || !transfer.checkpoints.isEmpty })
      }
      bench.kill()
      return nil
    }
  }

  /// Fetches each link twice, once interrupted at its beginning and once in the middle, and lets another worker go on.
  private func interrupt(
    _ what: String, _ interruption: (SourceBench, TriedTransfer) throws -> Check.Result?
  ) throws -> Check.Result {
    let known: [(link: String, file: TransferFile)]
    switch try fetched() {
    case .success(let list): known = list
    case .failure(let skip): return .skipped(skip.why)
    }
    var note: String?
    for (link, file) in known {
      for isInTheMiddle in [false, true] {
        let bench = try sourceBench()
        let transfer = try bench.give(link)
        if isInTheMiddle {
          // So much that it is worth going on from there.
          let enough = min(file.size / 2, Self.middle)
          _ = try bench.listen(
            stage.timeout, name(link),
            until: { transfer.hasBytes && transfer.file.size >= enough || transfer.result != nil })
        }
        let seen = transfer.file.size
        if let problem = try interruption(bench, transfer) { return problem }
        if let problem = Self.problem(of: transfer) { return problem }
        if transfer.isPassed {
          if isInTheMiddle { note = Self.tooFast }
          if let problem = try problem(of: transfer, file, "though interrupted") { return problem }
          continue
        }
        if isInTheMiddle, transfer.result != nil, seen > 0, transfer.progress.bytes == 0 {
          note = "of \(ByteSize.rounded(seen)) that had come nothing is kept: the next attempt begins afresh"
        }
        let next = try sourceBench().give(link, self, from: transfer, what: "\(name(link)) \(what)")
        let place = "\(what) at \(Count.text(transfer.progress.bytes, "byte"))"
        if let problem = try problem(of: next, file, place) { return problem }
      }
    }
    return note.map { .noted($0) } ?? .passed
  }

  func hold() throws -> Check.Result {
    let known: [(link: String, file: TransferFile)]
    switch try fetched() {
    case .success(let list): known = list
    case .failure(let skip): return .skipped(skip.why)
    }
    var note: String?
    for (link, file) in known {
      let bench = try sourceBench()
      let transfer = try bench.give(link)
      try bench.order(transfer, .hold)
      if let problem = try isMoving(transfer, bench) { return problem }
      // One so small that it came before the order.
      let isOver = transfer.result != nil
      let other = try bench.give(link)
      try bench.finish(other, "\(name(link)) beside one that is held")
      if let problem = try problem(of: other, file, "beside one that is held") { return problem }
      if !isOver && transfer.result != nil { return movement("ends: \(transfer.summary)") }
      try bench.order(transfer, .goOn)
      _ = try bench.listen(stage.timeout, name(link), until: { transfer.hasBytes || transfer.result != nil })
      try bench.order(transfer, .hold)
      if let problem = try isMoving(transfer, bench) { return problem }
      if transfer.result != nil { note = Self.tooFast }
      try bench.order(transfer, .goOn)
      try bench.finish(transfer, "\(name(link)) held, and told to go on")
      if let problem = try problem(of: transfer, file, "held for a while") { return problem }
    }
    return note.map { .noted($0) } ?? .passed
  }

  /// Whether a transfer that is held writes; `nil`: it stands still, or has ended.
  private func isMoving(_ transfer: TriedTransfer, _ bench: SourceBench) throws -> Check.Result? {
    let hasEnded = { transfer.result != nil }
    if try bench.listen(Self.settling, "held", until: hasEnded) { return nil }
    let before = transfer.file.state
    let isEnded = try bench.listen(Self.stillness, "held", until: hasEnded)
    if !isEnded && transfer.file.state == before { return nil }
    return movement(
      isEnded
        ? "ends: \(transfer.summary)" : "is still written to after \(Interval.text(Self.settling))")
  }

  private func movement(_ what: String) -> Check.Result {
    .failed(
      "held, a transfer \(what)",
      remedy:
        "from `hold` on read nothing more of its connection, until it is to go on; time limits stand still as well"
    )
  }

  // MARK: Time after time

  private static let rounds = 400
  /// Bytes of content that are fetched to their end each time. Of more the beginning is.
  private static let wholeLimit: Int64 = 1 << 20

  func transfers() throws -> Check.Result {
    let known: [(link: String, file: TransferFile)]
    switch try fetched() {
    case .success(let list): known = list
    case .failure(let skip): return .skipped(skip.why)
    }
    guard let (link, file) = known.min(by: { $0.file.size < $1.file.size }) else {
      return .skipped(Self.linkless)
    }
    let bench = try sourceBench()
    var before: (memory: Int, descriptors: Int)?
    for round in 0..<Self.rounds {
      if round == 100 { before = bench.pid.flatMap { Self.heldAtRest($0) } }
      let what = "transfer \(round + 1) of one worker"
      let transfer = try bench.give(link)
      if file.size > Self.wholeLimit {
        _ = try bench.listen(
          stage.timeout, what, until: { transfer.hasBytes || transfer.result != nil })
        try bench.order(transfer, .stop)
      }
      try bench.finish(transfer, what)
    }
    guard let before, let after = bench.pid.flatMap({ Self.heldAtRest($0) }) else {
      return .skipped("proc(5) does not tell what the worker holds")
    }
    return Self.growth(from: before, to: after, "`stop` and with each transfer that ends")
  }
}
