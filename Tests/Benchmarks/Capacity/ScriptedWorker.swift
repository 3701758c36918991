import CWorker
import Glibc
import Pipeline
import Scheduler
import Wire
import Workers

/// A worker that is no process: it answers each piece of work well, one after the other, each after a set time.
///
/// It does not wait to make several durable together, and its frames are neither written nor read.
final class ScriptedWorker: Worker {
  private unowned let world: ScriptedWorld
  private let slot: UInt32
  private let script: Script
  /// What was given and is not answered, with the time at which the answer is due.
  private var pieces: [(due: UInt64, work: Work)] = []
  private var next = 0
  private var freeAt: UInt64 = 0
  private(set) var status = sluice_status()

  init(_ world: ScriptedWorld, slot: UInt32, _ setup: Setup) {
    self.world = world
    self.slot = slot
    script = Script(setup, world.contentTime)
    let none = setup.stages.map { _ in String?.none }
    let bases = script.isContent ? setup.stages.map { _ in String?.some("the bench") } : none
    let ready = Ready(sandbox: .max, bases: bases, lengthLimits: setup.stages.map { _ in nil })
    world.add(.worker(slot: slot, .said(.ready(ready))))
  }

  var partialResult: WorkResult? { nil }
  var excessThreads: Int? { nil }
  var lastWords: String { "" }
  func resetFlood() {}
  func cancel(_ serials: [UInt64]) {}

  func kill() {
    world.add(.worker(slot: slot, .ended(.crashed(signal: SIGKILL))))
  }

  func give(_ work: Work, descriptors: [Int32]) -> GiveResult {
    let now = world.now
    let start = max(freeAt, now)
    freeAt = start + script.time
    if next == pieces.count { show(work, since: start) }
    pieces.append((freeAt, work))
    world.arrange(freeAt, slot)
    return .given
  }

  /// The answer to the first piece of work that has none.
  func answer() -> Happening {
    let (due, work) = pieces[next]
    next += 1
    if next == pieces.count {
      pieces.removeAll(keepingCapacity: true)
      next = 0
      status.serial = 0
    } else {
      show(pieces[next].work, since: due)
    }
    return .worker(slot: slot, .said(.result(script.result(of: work))))
  }

  /// Shows what it works on.
  private func show(_ work: Work, since time: UInt64) {
    (status.serial, status.stage, status.since) = (work.serial, UInt32(work.first), time)
  }
}

/// What a group of stages says of any work.
struct Script {
  /// Nanoseconds for a piece of work.
  let time: UInt64
  let isContent: Bool
  private let isDigest: Bool
  private let isStore: Bool
  private let isEnd: Bool

  init(_ setup: Setup, _ contentTime: UInt64) {
    let description = setup.stages[0].description
    isDigest = description.id == ScriptedPipeline.digest.id
    isStore = description.capability == .store
    isEnd = description.role == .end
    isContent = !isDigest && description.role == .line && description.capability == .content
    time = isContent ? contentTime : 0
  }

  func result(of work: Work) -> WorkResult {
    var result = WorkResult(serial: work.serial)
    result.report.results = (work.first..<work.end).map {
      StageResult(index: $0, verdict: .pass)
    }
    if isDigest {
      result.report.metadata = [Metadatum(key: "sha256", value: .text(Self.digest(work.serial)))]
    } else if isContent {
      result.report.mediaType = "application/pdf"
      result.report.metadata = ScriptedPipeline.metadata
    } else if isStore {
      result.report.location = "documents/\(work.origin.conversationId)/\(work.origin.id)/document.pdf"
    } else if isEnd {
      result.report.emissions = [
        Emission(
          type: "attachment.completed", channel: ScriptedPipeline.channel, audience: .participants)
      ]
    }
    return result
  }

  /// A hash of a content that no other attachment has.
  private static func digest(_ serial: UInt64) -> String {
    let digits = String(serial, radix: 16)
    return String(repeating: "0", count: 64 - digits.utf8.count) + digits
  }
}
