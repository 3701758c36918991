import CWorker
import Glibc
import Platform
import Wire

/// The page that the coordinator looks at: a crash leaves there where it happened, and the loop that it turns.
final class Pulse {
  private var status: UnsafeMutablePointer<sluice_status>?
  private var turns: UInt64 = 0

  /// To be called first: it closes the descriptors that are of no use here.
  init() {
    let page = mmap(nil, Int(SLUICE_STATUS_SIZE), PROT_READ | PROT_WRITE, MAP_SHARED, SLUICE_FD_STATUS, 0)
    if let page, page != MAP_FAILED {
      sluice_note_modules()
      status = page.assumingMemoryBound(to: sluice_status.self)
      sluice_watch(status)
    }
    close(SLUICE_FD_STATUS)
    close(SLUICE_FD_FOLDER)
  }

  /// A sign of life.
  func beat() {
    turns += 1
    if let status { sluice_status_begin(status, turns, 0) }
  }
}

enum Sandbox {
  /// Gives up all rights but those to sockets and files that are there or handed over. To be called while there is one thread.
  ///
  /// - Parameter takesDescriptors: whether clients may pass some.
  /// - Returns: the parts of the sandbox that are in force, as bits.
  /// - Throws: where one is required that this kernel lacks.
  static func close(
    descriptors: UInt32, longestFile: Int64, memory: Int64, isRequired: Bool, takesDescriptors: Bool = false
  ) throws(FrameError) -> UInt32 {
    let level = sluice_front_close(descriptors, longestFile, memory, takesDescriptors ? 1 : 0)
    let needed = UInt32(SLUICE_SANDBOX_NO_NEW_PRIVILEGES | SLUICE_SANDBOX_FILES | SLUICE_SANDBOX_SYSCALLS)
    if isRequired && level & needed != needed {
      throw FrameError("this kernel cannot close the sandbox; `sluice doctor` says what it lacks")
    }
    return level
  }
}
