import FrontWire
import HTTPServer
import Platform

/// Stores the body of a request, or the file of a form, in a file.
final class StoredBody: BodySink, FileWriterClient {
  private let exchange: Exchange
  private let writer: FileWriter
  private let task: FileWriter.Task
  /// Bytes that may still come.
  private var room: Int64
  /// Bytes in memory that are not written.
  private var pending = 0
  private var isPaused = false
  private var (isWhole, isTooLong, isMalformed) = (false, false, false)
  /// `nil`: the body is what is stored.
  private var parts: FormParts?
  /// Of a form, of which not all is stored; `nil`: none was asked for.
  private var digest: MessageDigest?
  /// The writer was told that no more will come.
  private var isOver = false
  private let onEnd: (Stored) -> Void

  private static let mostPending = 1 << 20
  /// As few as this before more is read.
  private static let fewPending = 256 << 10

  /// `nil`: the body is to be a form, and its type says that it is none.
  init?(
    _ exchange: Exchange, _ file: SharedDescriptor, _ order: StoreOrder, _ writer: FileWriter,
    onEnd: @escaping (Stored) -> Void
  ) {
    (self.exchange, self.writer, self.onEnd) = (exchange, writer, onEnd)
    if order.isForm {
      digest = order.digest.flatMap { try? MessageDigest($0) }
      digest?.begin()
    }
    task = FileWriter.Task(
      file, at: order.offset, digest: order.isForm ? nil : order.digest, syncs: order.isSynced)
    room = order.limit
    if order.isForm {
      parts = FormParts(contentType: exchange.head.value("content-type"))
      if parts == nil { return nil }
    }
    task.client = self
  }

  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if isOver { return false }
    if parts == nil {
      store(bytes)
    } else {
      digest?.add(bytes)
      do {
        try parts?.take(bytes) { store($0) }
      } catch {
        isMalformed = true
      }
    }
    if isTooLong || isMalformed {
      // The answer does not wait for the rest, which may have no end.
      finish()
      return false
    }
    isPaused = pending >= Self.mostPending
    return !isPaused
  }

  private func store(_ bytes: UnsafeRawBufferPointer) {
    let taken = Int(min(Int64(bytes.count), room))
    if taken < bytes.count { isTooLong = true }
    if taken == 0 || isTooLong { return }
    room -= Int64(taken)
    pending += taken
    writer.write(UnsafeRawBufferPointer(rebasing: bytes[..<taken]), task)
  }

  func end() {
    isWhole = true
    if let parts, !parts.isWhole { isMalformed = true }
    finish()
  }

  func cut() { finish() }

  private func finish() {
    if isOver { return }
    isOver = true
    writer.finish(task)
  }

  /// So many bytes are written, or cannot be.
  func progress(_ count: Int) {
    pending -= count
    guard isPaused, !isOver, pending <= Self.fewPending else { return }
    isPaused = false
    exchange.resumeBody()
  }

  func ended(_ written: Int64, _ error: Int32, _ fileDigest: [UInt8]) {
    onEnd(
      Stored(
        bytes: written, isWhole: isWhole, isTooLong: isTooLong, error: error,
        digest: digest?.finish() ?? fileDigest,
        isMalformed: isMalformed, form: isMalformed ? Form() : parts?.form ?? Form()))
  }
}
