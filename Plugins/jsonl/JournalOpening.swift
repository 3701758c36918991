import Glibc
import StageKit

/// The steps to open a file of lines: lock it, remove an incomplete line, sync the rest.
struct JournalOpening {
  let path: String
  let home: Int32
  let file: Int32

  /// How long to wait for the end of a killed process, in milliseconds.
  private static let patience = 5_000

  func makeWhole() throws(Outcome) {
    var facts = stat()
    guard fstat(file, &facts) == 0 else { throw refusal("reading its type") }
    guard facts.st_mode & S_IFMT == S_IFREG else {
      throw .fail("unwritable", "\(path) is not a regular file")
    }
    try hold()
    try checkContent()
    try cutHole()
    try cutTornLine()
    // Lines of a killed process count as written if they are found later, so they are made durable here.
    guard fsync(file) == 0 else { throw refusal("syncing it") }
    try syncFolder()
  }

  /// Locks the file: two writers would truncate each other's lines. A killed process may still be in its last
  /// write; its lock is released with its last descriptor (flock(2)).
  private func hold() throws(Outcome) {
    for _ in 0..<(Self.patience / 20) {
      if flock(file, LOCK_EX | LOCK_NB) == 0 { return }
      guard errno == EWOULDBLOCK || errno == EINTR else { throw refusal("locking it") }
      usleep(20_000)
    }
    throw .fail("unwritable", "another process or channel writes to \(path); give each its own file")
  }

  /// Checks that the file holds events, so that a wrong path does not cost another file its last line.
  private func checkContent() throws(Outcome) {
    var start = [UInt8](repeating: 0, count: Journal.opening.count)
    let count = start.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
    guard count >= 0 else { throw refusal("reading it") }
    // After a power failure, a first batch may begin with zeros.
    let head = start[..<count].prefix { $0 != 0 }
    let isWhole = head.count == count || lseek(file, 0, SEEK_END) <= Self.longestBatch
    guard Journal.opening.starts(with: head), isWhole else {
      throw .fail("unwritable", "\(path) holds something else than events, and is left as it is")
    }
  }

  /// After a power failure, unsynced data may be on disk at its end and not at its beginning. That leaves
  /// zeros, which no line contains. Everything after them is unsynced and invalid, because every batch is
  /// synced.
  private func cutHole() throws(Outcome) {
    let end = lseek(file, 0, SEEK_END)
    guard end >= 0 else { throw refusal("measuring it") }
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    var start = max(end - Self.longestBatch, 0)
    while start < end {
      let count = piece.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, start) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw refusal("reading it") }
      if let hole = piece[..<count].firstIndex(of: 0) {
        if ftruncate(file, start + off_t(hole)) != 0 { throw refusal("cutting off what a power cut left") }
        return
      }
      start += off_t(count)
    }
  }

  /// More than the data written between two syncs: 64 events, each shorter than a frame of 96 KiB.
  private static let longestBatch: off_t = 8 << 20

  /// Truncates the file after its last newline. The rest was never acknowledged.
  private func cutTornLine() throws(Outcome) {
    let end = lseek(file, 0, SEEK_END)
    guard end >= 0 else { throw refusal("measuring it") }
    let whole = try endOfLastLine(before: end)
    if whole < end, ftruncate(file, whole) != 0 { throw refusal("cutting off an interrupted line") }
  }

  private func endOfLastLine(before end: off_t) throws(Outcome) -> off_t {
    var piece = [UInt8](repeating: 0, count: 4096)
    var end = end
    while end > 0 {
      let start = max(end - off_t(piece.count), 0)
      let count = piece.withUnsafeMutableBytes { pread(file, $0.baseAddress, Int(end - start), start) }
      if count < 0 && errno == EINTR { continue }
      guard count == Int(end - start) else { throw refusal("reading it") }
      if let newline = piece[..<count].lastIndex(of: UInt8(ascii: "\n")) { return start + off_t(newline) + 1 }
      end = start
    }
    return 0
  }

  /// A new file's name is durable once its folder is synced (fsync(2)). Done even if the file existed: the
  /// process that created it may have been killed before this step.
  private func syncFolder() throws(Outcome) {
    let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let folder = openat(home, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw refusal("opening its folder") }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw refusal("syncing its folder") }
  }

  private func refusal(_ doing: String) -> Outcome {
    .fail("unwritable", "\(path): \(doing): \(Journal.reason(errno))")
  }
}
