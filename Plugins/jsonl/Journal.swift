import Glibc
import StageKit

/// The file of lines, locked by this process.
///
/// Between two calls its content is synced and ends with a newline: lines that could not be written and
/// synced completely are removed again.
final class Journal {
  let file: Int32
  /// Where the file should end, if truncating it has failed.
  private var intended: off_t?

  /// Opens or creates the file, and repairs its end. The folder is not needed afterwards.
  init(_ path: String, in home: Int32) throws(Outcome) {
    let file = openat(home, path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    if file < 0 {
      let missing = errno == ENOENT ? "; make its folder first" : ""
      throw .fail("unwritable", "\(path) does not open: \(Self.reason(errno))\(missing)")
    }
    do throws(Outcome) {
      try JournalOpening(path: path, home: home, file: file).makeWhole()
    } catch {
      close(file)
      throw error
    }
    self.file = file
  }

  deinit {
    close(file)
  }

  /// Appends lines, each with its newline, and returns once they are on disk. Throws a retry or a pause, with
  /// none of the lines in the file.
  func append(_ lines: [UInt8]) throws(Outcome) {
    let length = try length()
    do throws(Outcome) {
      try write(lines)
      try sync()
    } catch {
      intended = length
      if takeBack() { throw error }
      // Lines may be left in the file, so the next attempt must check for them. After a pause it would count
      // as the first attempt.
      throw .retry(error.code, error.message)
    }
  }

  /// Ends this process where the file was deleted, or another was moved to its place: no reader would see the lines. The next worker
  /// opens the file that is there, and gets the same events.
  private func endWhereReplaced() {
    var facts = stat()
    if fstat(file, &facts) == 0 && facts.st_nlink == 0 { _exit(0) }
  }

  /// The length of the valid lines. Removes anything after them first.
  func length() throws(Outcome) -> off_t {
    endWhereReplaced()
    guard takeBack() else {
      throw .retry("unwritable", "taking back lines that were not synced: \(Self.reason(errno))")
    }
    let length = lseek(file, 0, SEEK_END)
    if length < 0 { throw .retry("unreadable", "measuring the file: \(Self.reason(errno))") }
    return length
  }

  /// Truncates what a failed append left, and syncs: the lines must not reappear after a power failure.
  private func takeBack() -> Bool {
    guard let length = intended else { return true }
    guard ftruncate(file, length) == 0, fsync(file) == 0 else { return false }
    intended = nil
    return true
  }

  private func write(_ lines: [UInt8]) throws(Outcome) {
    var done = 0
    while done < lines.count {
      let count = lines.withUnsafeBytes {
        Glibc.write(file, $0.baseAddress?.advanced(by: done), lines.count - done)
      }
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw Self.fault("unwritable", "writing \(lines.count) bytes") }
      done += count
    }
  }

  /// Syncs the file. After a failure the kernel may mark pages as clean that are not on disk, so a second
  /// sync would prove nothing ("PostgreSQL's fsync() surprise", LWN, 2018). Instead the lines are written
  /// again.
  private func sync() throws(Outcome) {
    while fdatasync(file) != 0 {
      if errno != EINTR { throw Self.fault("unsynced", "syncing the lines") }
    }
  }

  /// The outcome of a failed system call, from errno.
  private static func fault(_ code: String, _ doing: String) -> Outcome {
    let number = errno
    switch number {
    case ENOSPC, EDQUOT: return .pause("disk-full", "\(doing): \(reason(number)); make room, then resume")
    default: return .retry(code, "\(doing): \(reason(number))")
    }
  }

  static func reason(_ number: Int32) -> String { String(cString: strerror(number)) }
}
