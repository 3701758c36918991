import CPlatform
import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// Opens and closes stages time and again, and measures what that leaves behind.
struct TrialOpenings {
  let host: UnsafePointer<sluice_host>

  /// `nil` where the setup asks for none.
  func run(_ setup: Setup) throws(Refusal) -> Ready.Leak? {
    guard setup.trialOpenings > 0 else { return nil }
    // What a library keeps for good it has after the first few.
    let warm = max(setup.trialOpenings / 4, 1)
    for _ in 0..<warm { try openAndClose(setup.stages) }
    let before = Self.inUse()
    let half = (setup.trialOpenings - warm) / 2
    for _ in 0..<half { try openAndClose(setup.stages) }
    let middle = Self.inUse()
    for _ in 0..<half { try openAndClose(setup.stages) }
    let after = Self.inUse()
    // What leaks leaks in both halves. What a library takes now and then, it takes in one.
    return Ready.Leak(
      bytes: 2 * min(middle.bytes - before.bytes, after.bytes - middle.bytes),
      descriptors: 2 * min(middle.descriptors - before.descriptors, after.descriptors - middle.descriptors))
  }

  private func openAndClose(_ stages: [StageDefinition]) throws(Refusal) {
    for stage in stages { try OpenStage(stage, folder: SLUICE_FD_FOLDER, host: host).close() }
  }

  private static func inUse() -> Ready.Leak {
    Ready.Leak(bytes: sluice_heap_in_use(), descriptors: Int64(sluice_descriptors_in_use()))
  }
}
