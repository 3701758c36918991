import CPlatform
import Glibc
import Pipeline
import Platform
import Wire

/// A transfer that a source was given, with all that was heard of it.
final class TriedTransfer {
  let serial: UInt64
  let link: String
  let file: TransferFile
  /// How far earlier attempts came.
  let start: TransferProgress
  private(set) var checkpoints: [TransferProgress] = []
  /// Bytes that the source says are there, synced or not.
  private(set) var received: Int64 = 0
  var result: StageResult?
  var metadata: [Metadatum] = []
  /// The first checkpoint that went beyond what was in the file, with the bytes that were.
  private(set) var overreach: (told: Int64, there: Int64)?

  init(serial: UInt64, link: String, file: TransferFile, start: TransferProgress) {
    self.serial = serial
    self.link = link
    self.file = file
    self.start = start
  }

  /// Where another attempt goes on.
  var progress: TransferProgress { checkpoints.last ?? start }
  /// Whether something came in this attempt.
  var hasBytes: Bool { !checkpoints.isEmpty || received > start.bytes || file.size > start.bytes }
  var isPassed: Bool { result?.verdict == .pass }

  /// `retry, server-busy: not now`.
  var summary: String {
    guard let result else { return "it has not ended" }
    return "\(result.verdict.name), \(result.code ?? "no code"): \(result.message ?? "no reason")"
  }

  func take(_ news: TransferNews.Kind) {
    switch news {
    case .received(let bytes): received = bytes
    case .checkpoint(let progress):
      checkpoints.append(progress)
      let there = file.size
      if overreach == nil && progress.bytes > there { overreach = (progress.bytes, there) }
    }
  }
}

/// The file that a transfer's content goes to. It has no name, and is gone with this object.
final class TransferFile {
  let descriptor: Descriptor

  /// - Parameter folder: where it lies.
  init(in folder: ScratchFolder) throws(SystemError) {
    let path = "\(folder.path)/transfer"
    descriptor = try Descriptor.open(path, O_RDWR | O_CREAT | O_EXCL)
    unlink(path)
  }

  /// In bytes; -1: the system does not say.
  var size: Int64 {
    var facts = stat()
    return fstat(descriptor.number, &facts) == 0 ? Int64(facts.st_size) : -1
  }

  /// What is in it, for one that reads.
  func content() throws -> Content {
    let copy = dup(descriptor.number)
    if copy < 0 { throw SystemError("keeping a transfer's file open") }
    return try Content(Descriptor(owning: copy))
  }

  /// Changes with each write.
  var state: FileState? {
    var facts = stat()
    return fstat(descriptor.number, &facts) == 0 ? FileState(facts) : nil
  }

  /// Leaves so many bytes of it, and behind them, or behind a gap of zeros, what does not count.
  func scribble(after bytes: Int64, gap: Int64 = 0) throws(SystemError) {
    if ftruncate(descriptor.number, off_t(bytes)) != 0 { throw SystemError("cutting a transfer's file") }
    let waste = [UInt8](repeating: 0xA5, count: 64 << 10)
    if pwrite(descriptor.number, waste, waste.count, off_t(bytes + gap)) != waste.count {
      throw SystemError("writing to a transfer's file")
    }
  }

  /// The first byte in which it differs from another, if only in its length; `nil`: it is the same.
  func difference(from other: TransferFile) throws(SystemError) -> Int64? {
    var offset: Int64 = 0
    while true {
      let mine = try piece(at: offset)
      let theirs = try other.piece(at: offset)
      if mine == theirs {
        if mine.isEmpty { return nil }
        offset += Int64(mine.count)
        continue
      }
      let same = zip(mine, theirs).prefix { $0 == $1 }.count
      return offset + Int64(same)
    }
  }

  private func piece(at offset: Int64) throws(SystemError) -> [UInt8] {
    let size = 1 << 20
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { room, count in
      while count < size {
        let read = pread(
          descriptor.number, room.baseAddress.map { $0 + count }, size - count, off_t(offset) + off_t(count))
        if read < 0 && errno == EINTR { continue }
        if read < 0 { failure = SystemError("reading a transfer's file") }
        if read <= 0 { break }
        count += read
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
