@testable import ArchiveStage

extension FuzzTarget {
  /// An archive of any format.
  static let archive = FuzzTarget(name: "archive") { bytes in
    for stage in [archiveThatRejects, archiveThatKeeps] {
      guard let stage else { throw Violation(description: "the stage does not open") }
      try stage.run(bytes, as: "a.zip", most: 200_000)
    }
  }

  private static let archiveThatRejects = archiveStage("reject")
  private static let archiveThatKeeps = archiveStage("keep")

  private static func archiveStage(_ faulty: String) -> StageUnderFuzz? {
    StageUnderFuzz(
      archive_stage(1),
      [
        ("max-entries", "100"), ("max-bytes", "200000"), ("max-entry-bytes", "100000"), ("ratio", "50"),
        ("encrypted", faulty), ("damaged", faulty), ("no-archive", "pass"),
      ])
  }
}
