import CPlatform
import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

/// Workers that open the same stages, and what waits for them.
final class WorkerGroup {
  enum Purpose: Equatable {
    /// Measures content before anything parses it.
    case digest
    /// Runs a part of the line.
    case line(Range<Int>)
    /// Delivers a channel's events.
    case channel(String)
  }

  let purpose: Purpose
  let stages: [StageDefinition]
  let capability: StageDescription.Capability
  /// A process for each piece of work.
  let isFresh: Bool
  /// Its answers come when they are ready for many together, and not one after the other.
  let flushes: Bool
  /// They come in any order.
  let turns: Bool
  /// Each piece of work has a time limit of its own, since many of them are under way at once. That one of a channel's
  /// events waits for another is the channel's own order.
  let limitsEach: Bool
  /// As many as may run.
  let limit: Int
  /// Pieces of work in one worker at a time, at most: enough to hide the way there and back; with a barrier, enough to share it.
  private let most: Int
  /// What a piece of work has taken lately, in nanoseconds; `nil`: none was done yet.
  private var usual: UInt64?

  var workers: [GroupWorker] = []
  /// Waiting for any worker.
  let queue = FlightQueue()
  /// Waiting for a worker of their own.
  let alone = FlightQueue()
  /// What its stages rest on as the last worker to get ready has it, where all promise to say the same of equal content and
  /// they are the first that content meets.
  var fingerprint: String?
  /// What its stages reject for its length alone, by their place in the group.
  var lengthLimits: [LengthLimit?] = []
  /// A worker has been ready, so that ``fingerprint`` and ``lengthLimits`` are known.
  var wasReady = false
  /// Workers in a row that ended before they were ready.
  var failedStarts = 0

  /// A stage with a type of contents, for which it takes long.
  private struct Slow: Hashable {
    var stage: Int
    /// `nil`: it is not known.
    var type: String?
  }

  /// What they have taken lately, in microseconds; where that is less than half as much again, they are forgotten.
  private var slow: [Slow: Int64] = [:]
  private static let slowTime: Int64 = 200_000
  private static let mostSlow = 64

  init(
    purpose: Purpose, stages: [StageDefinition], capability: StageDescription.Capability, isFresh: Bool,
    limit: Int, depth: Int? = nil
  ) {
    self.purpose = purpose
    self.stages = stages
    self.capability = capability
    self.isFresh = isFresh
    self.limit = limit
    turns = stages.contains { $0.description.turns }
    flushes = turns || stages.contains { $0.description.flushes }
    limitsEach = if case .line = purpose { turns } else { false }
    let usual = limitsEach ? Self.atOnce : flushes ? 64 : purpose == .digest ? 16 : 6
    most = depth ?? (isFresh ? 1 : usual)
  }

  /// Nanoseconds of a piece of work from which on one may wait behind it, and from which on none may: the way there and back is
  /// little beside that, and another worker may have nothing to do meanwhile.
  private static let (longer, long): (UInt64, UInt64) = (2_000_000, 20_000_000)

  /// Pieces of work in one worker at a time.
  var depth: Int {
    // Answers that come together, or in any order, say nothing of one. What hashes long is replaced.
    if flushes || isFresh || purpose == .digest { return most }
    guard let usual, usual < Self.long else { return 1 }
    return usual < Self.longer ? most : min(most, 2)
  }

  /// Notes what a piece of work has taken, in nanoseconds.
  func learn(_ time: UInt64) {
    usual = usual.map { $0 - $0 / 8 + time / 8 } ?? time
  }

  /// Notes that a stage takes long for contents of a type; `nil`: for some.
  func noteSlow(_ stage: Int, _ type: String?) {
    if slow.count >= Self.mostSlow { slow.removeAll() }
    if stages.indices.contains(stage) { slow[Slow(stage: stage, type: type)] = Self.slowTime }
  }

  /// Notes what stages have taken for a content.
  func learn(_ report: StageReport, of flight: Flight) {
    let type = report.mediaType ?? flight.run.mediaType
    for result in report.results {
      let stage = Slow(stage: result.index, type: type)
      if let time = slow[stage] {
        let usual = time - time / 4 + result.microseconds / 4
        slow[stage] = usual < Self.slowTime / 2 ? nil : usual
      } else if result.microseconds > Self.slowTime {
        noteSlow(result.index, type)
      }
    }
  }

  /// Where the stages end that are quick for a flight, of those that it waits for; `nil`: the first is not.
  func quickEnd(of flight: Flight) -> Int? {
    guard let dispatch = flight.dispatched, !flushes else { return nil }
    let type = flight.run.mediaType
    let end = (dispatch.first..<dispatch.end).first { stage in
      slow.keys.contains { $0.stage == stage && (type == nil || $0.type == nil || $0.type == type) }
    }
    return end == dispatch.first ? nil : end ?? dispatch.end
  }

  /// Attachments that a stage which turns has in hand in one worker: as many as a worker can be told to drop.
  private static let atOnce = Int(SLUICE_MOST_CANCELLED)

  /// Bytes of new content a worker may write; -1: no bound.
  var output: Int64 {
    if capability == .store { return -1 }
    if case .channel = purpose { return -1 }
    return stages.map(\.output).max() ?? 0
  }

  /// Takes out of the queues what answers to a description.
  func removeQueued(where condition: (Flight) -> Bool) -> [Flight] {
    var taken: [Flight] = []
    for queue in [queue, alone] { taken += queue.remove(where: condition) }
    return taken
  }

  /// What its workers are told to be.
  func setup(_ pipeline: PipelineDefinition) -> Setup {
    Setup(stages: stages, sandbox: pipeline.sandbox, capability: capability, output: output)
  }

  var produces: Bool { stages.contains { $0.description.produces } }
  /// Its stages may write something beside the content.
  var leavesPieces: Bool { stages.contains { $0.description.leavesPieces } }
}

extension WorkerGroup {
  /// Starts in a row that may fail before the pipeline is held to be broken.
  private static let startLimit = 3

  /// A worker ended before it was of use.
  ///
  /// - Throws: where that has happened so often that the pipeline is held to be broken.
  func countFailedStart(_ death: WorkerDeath, wasReady: Bool) throws(SchedulerError) {
    // To wait for the same again would take as long again.
    let isLate = if case .timedOut = death.cause { !wasReady } else { false }
    failedStarts += isLate ? Self.startLimit : 1
    if failedStarts < Self.startLimit { return }
    failedStarts = 0
    let names = stages.map(\.id).joined(separator: ", ")
    let files = stages.map(\.description.file).joined(separator: " ")
    throw SchedulerError(
      .configuration,
      "the worker for \(names) does not start: \(death.message(in: stages[0])); "
        + (isProgram ? "`sluice lint` shows it again" : "`sluice stages doctor \(files)` may tell why"),
      of: laneWithoutIt)
  }

  /// Its stage is a program.
  var isProgram: Bool { stages.contains { $0.description.program != nil } }

  /// The lane that stands still where its program does not open any more, as one that was changed while it was at work; `nil`: it has
  /// not opened in this run, or the stage is none. A program is a stage of the line: what waits for it has no outcome yet.
  var laneWithoutIt: LaneName? { wasReady && isProgram ? .attachments : nil }

  /// What the stages of a group rest on, as text, where what they say may stand in for running them again. The ledger
  /// keeps it as it is, so a stage with a secret option has none.
  func fingerprint(_ pipeline: PipelineDefinition, _ bases: [String?]) -> String? {
    guard pipeline.reuse == .verdicts, case .line(let range) = purpose, range.lowerBound == 0,
      capability == .content, !isFresh, !stages.contains(where: { $0.values.contains(where: \.isSecret) }),
      !produces, !stages.contains(where: \.description.expands), !bases.contains(nil),
      bases.count == stages.count, stages.allSatisfy({ $0.description.role == .line })
    else { return nil }
    var writer = JSONWriter()
    writer.array { writer in
      for (stage, basis) in zip(stages, bases) { write(stage, basis, &writer) }
    }
    return writer.text
  }

  private func write(_ stage: StageDefinition, _ basis: String?, _ writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("stage", stage.id)
      writer.member("plugin", stage.description.id)
      writer.member("version", stage.description.version)
      // A stage that is built anew counts as another, also if its version stays the same; and on another host it is the same.
      writer.member("file", FileIdentity.hash(of: stage.description.file))
      if let program = stage.description.program {
        writer.key("program")
        writer.array { writer in
          for word in program.command {
            writer.value(FileIdentity.hash(of: program.path(of: word)))
          }
        }
      }
      writer.member("basis", basis)
      writer.key("options")
      writer.array { writer in
        for value in stage.values {
          writer.value(value.name)
          writer.value(value.key)
          writer.value(value.text)
        }
      }
      writer.key("when")
      writer.array { writer in
        for condition in stage.conditions { writer.value("\(condition)") }
      }
    }
  }
}
