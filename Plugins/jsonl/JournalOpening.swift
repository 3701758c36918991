import Glibc
import StageKit

/// What is done once with a file of lines: hold it, cut off a line that was interrupted, sync what is there.
struct JournalOpening {
  let path: String
  let home: Int32
  let file: Int32

  /// How long to wait for a process that is killed and not yet gone, in milliseconds.
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
    // What a killed process wrote counts as written when it is found later: here it becomes durable.
    guard fsync(file) == 0 else { throw refusal("syncing it") }
    try syncFolder()
  }

  /// Two writers would take back each other's lines. A killed process may still be in its last write for a moment;
  /// the lock is free once that is over, with its last descriptor (flock(2)).
  private func hold() throws(Outcome) {
    for _ in 0..<(Self.patience / 20) {
      if flock(file, LOCK_EX | LOCK_NB) == 0 { return }
      guard errno == EWOULDBLOCK || errno == EINTR else { throw refusal("locking it") }
      usleep(20_000)
    }
    throw .fail("unwritable", "another process or channel writes to \(path); give each its own file")
  }

  /// A path that names another file by mistake must not cost that file its last line.
  private func checkContent() throws(Outcome) {
    var start = [UInt8](repeating: 0, count: Journal.opening.count)
    let count = start.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
    guard count >= 0 else { throw refusal("reading it") }
    // Zeros at the beginning are what a power cut leaves of a first batch.
    let head = start[..<count].prefix { $0 != 0 }
    let isWhole = head.count == count || lseek(file, 0, SEEK_END) <= Self.longestBatch
    guard Journal.opening.starts(with: head), isWhole else {
      throw .fail("unwritable", "\(path) holds something else than events, and is left as it is")
    }
  }

  /// A power cut may leave the end of what was not synced and not its beginning: zeros in between, which no line has. From
  /// there on nothing counted, since a sync comes after each batch.
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

  /// More than is written between two syncs: 64 events, each shorter than a frame of 96 KiB.
  private static let longestBatch: off_t = 8 << 20

  /// Cuts the file back to its last newline. What follows that never counted.
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

  /// A new file's name is durable once its folder is synced (fsync(2)). Done even where the file was there: the
  /// process that made it may have been killed before it came to this.
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
