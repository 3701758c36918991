import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// The sandbox while plugins are loaded and opened: see `sluice_sandbox_begin`.
enum Confinement {
  /// For a worker that runs stages. Returns whether the kernel has all parts that `sandbox: require` wants.
  static func begin(_ setup: Setup) -> Bool {
    let libraries = setup.stages.filter { $0.description.program == nil }.map(\.description.file)
    // A worker with a program loads nothing; its keeper is another process.
    if libraries.isEmpty { return true }
    var facts = stat()
    let hasFolder = fstat(SLUICE_FD_FOLDER, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    // The operator names files in options so that a stage reads them when it opens. Of a channel they may be relative to the home.
    let isChannel = hasFolder && setup.capability != .store
    let named = setup.stages.flatMap(\.values).map(\.text).filter {
      $0.hasPrefix("/") || isChannel && $0.contains("/")
    }
    let level = begin(
      setup.capability, folder: hasFolder ? SLUICE_FD_FOLDER : -1,
      libraries: libraries, files: named)
    return isWhole(level)
  }

  /// For a worker that only asks plugins what they are.
  static func begin(toLoad libraries: [String]) {
    _ = begin(.content, folder: -1, libraries: libraries, files: [])
  }

  /// Whether these parts of a sandbox are all that `sandbox: require` wants.
  static func isWhole(_ level: UInt32) -> Bool {
    let needed = UInt32(SLUICE_SANDBOX_NO_NEW_PRIVILEGES | SLUICE_SANDBOX_FILES | SLUICE_SANDBOX_SYSCALLS)
    return level & needed == needed
  }

  private static func begin(
    _ capability: StageDescription.Capability, folder: Int32, libraries: [String], files: [String]
  ) -> UInt32 {
    let arena = Arena()
    func list(_ paths: [String]) -> [UnsafePointer<CChar>?] { paths.map { arena.keep($0) } + [nil] }
    return sluice_sandbox_begin(capability.rawValue, folder, list(libraries), list(files))
  }
}
