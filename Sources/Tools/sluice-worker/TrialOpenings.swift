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
    // A leak shows in each part. Memory that a library or the allocator takes now and then shows in some.
    let part = (setup.trialOpenings - warm) / UInt32(Self.parts)
    var least = Ready.Leak(bytes: .max, descriptors: .max)
    var before = Self.inUse()
    for _ in 0..<Self.parts {
      for _ in 0..<part { try openAndClose(setup.stages) }
      let after = Self.inUse()
      least.bytes = min(least.bytes, after.bytes - before.bytes)
      least.descriptors = min(least.descriptors, after.descriptors - before.descriptors)
      before = after
    }
    return Ready.Leak(bytes: Self.parts * least.bytes, descriptors: Self.parts * least.descriptors)
  }

  private static let parts: Int64 = 5

  private func openAndClose(_ stages: [StageDefinition]) throws(Refusal) {
    for stage in stages { try OpenStage(stage, folder: SLUICE_FD_FOLDER, host: host).close() }
  }

  private static func inUse() -> Ready.Leak {
    Ready.Leak(bytes: sluice_heap_in_use(), descriptors: Int64(sluice_descriptors_in_use()))
  }
}
