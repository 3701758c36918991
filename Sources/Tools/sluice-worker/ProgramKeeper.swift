import CWorker
import Glibc
import Pipeline

/// The process that starts a stage's program and ends what the program leaves behind; see `program.h`. Started before any stage is
/// opened, while this process may still start others.
struct ProgramKeeper {
  /// By the stage's id. Unchecked because a worker has one thread.
  nonisolated(unsafe) private static var keepers: [String: ProgramKeeper] = [:]

  /// The socket to it.
  let socket: Int32

  /// That of a stage.
  static func keeper(of stage: StageDefinition) -> ProgramKeeper? { keepers[stage.id] }

  /// Starts one for a stage that is a program.
  ///
  /// - Returns: whether it could be started; else see errno.
  static func start(_ stage: StageDefinition, _ program: Program, _ sandbox: SandboxPolicy) -> Bool {
    let arena = Unmanaged.passRetained(Arena()).takeUnretainedValue()  // as long as the process
    func list(_ texts: [String]) -> UnsafePointer<UnsafePointer<CChar>?> {
      let place = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: texts.count + 1)
      for (index, text) in texts.enumerated() { (place + index).initialize(to: arena.keep(text)) }
      (place + texts.count).initialize(to: nil)
      return UnsafePointer(place)
    }
    let raw = UnsafeMutablePointer<sluice_program>.allocate(capacity: 1)
    raw.initialize(
      to: sluice_program(
        folder: arena.keep(program.folder), words: list(program.command),
        environment: list(environment(stage)),
        reads: list(program.reads), processes: UInt32(clamping: program.processes), memory: stage.memory,
        output: stage.output, sandbox: policy(sandbox)))
    let socket = sluice_keeper_start(raw)
    if socket >= 0 { keepers[stage.id] = ProgramKeeper(socket: socket) }
    return socket >= 0
  }

  private static func policy(_ sandbox: SandboxPolicy) -> UInt32 {
    switch sandbox {
    case .off: UInt32(SLUICE_PROGRAM_SANDBOX_OFF)
    case .prefer: UInt32(SLUICE_PROGRAM_SANDBOX_PREFER)
    case .require: UInt32(SLUICE_PROGRAM_SANDBOX_REQUIRE)
    }
  }

  /// The program's environment, and nothing of the coordinator's.
  private static func environment(_ stage: StageDefinition) -> [String] {
    [
      "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC0", "HOME=/nonexistent",
      "SLUICE_STAGE=\(stage.id)",
      // Lines arrive when they are printed, and nothing is written beside the sources.
      "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
    ]
  }

  /// What it tells next; `nil`: it is gone.
  func news() -> sluice_program_news? {
    var news = sluice_program_news()
    while true {
      let count = read(socket, &news, MemoryLayout<sluice_program_news>.size)
      if count == MemoryLayout<sluice_program_news>.size { return news }
      if count >= 0 || errno != EINTR { return nil }
    }
  }
}
