import CArchive
import Glibc
import StageKit

/// The content as libarchive reads it. A position of its own, so that the descriptor's does not matter.
final class Source {
  let attachment: Attachment
  /// Why the content could not be read.
  private(set) var failure: Outcome?
  private let buffer: UnsafeMutableRawBufferPointer
  private var offset: Int64 = 0
  /// Bytes of the content that libarchive sees.
  private let size: Int64

  /// - Parameter end: where the content is to end; `nil`: where it does.
  init(_ attachment: Attachment, _ buffer: UnsafeMutableRawBufferPointer, end: Int64? = nil) {
    (self.attachment, self.buffer, size) = (attachment, buffer, end ?? attachment.size)
  }

  /// Hands libarchive the functions it reads with. It keeps this object's address: the object must outlive the archive.
  func attach(to archive: OpaquePointer) {
    archive_read_set_read_callback(archive) { _, source, bytes in
      guard let source = Source.from(source), let bytes else { return -1 }
      bytes.pointee = UnsafeRawPointer(source.buffer.baseAddress)
      return source.read()
    }
    archive_read_set_seek_callback(archive) { _, source, offset, whence in
      Source.from(source)?.seek(offset, whence) ?? -1
    }
    archive_read_set_skip_callback(archive) { _, source, count in
      Source.from(source)?.skip(count) ?? 0
    }
    archive_read_set_callback_data(archive, Unmanaged.passUnretained(self).toOpaque())
  }

  private static func from(_ pointer: UnsafeMutableRawPointer?) -> Source? {
    pointer.map { Unmanaged<Source>.fromOpaque($0).takeUnretainedValue() }
  }

  private func read() -> Int {
    do throws(Outcome) {
      let most = Int(min(Int64(buffer.count), size - offset))
      let count = try attachment.read(
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<most]), at: offset)
      offset += Int64(count)
      return count
    } catch {
      failure = error
      return -1
    }
  }

  private func seek(_ by: Int64, _ whence: Int32) -> Int64 {
    let base: Int64 =
      switch whence {
      case SEEK_SET: 0
      case SEEK_CUR: offset
      default: size
      }
    let (target, isTooFar) = base.addingReportingOverflow(by)
    if isTooFar || target < 0 { return -1 }
    offset = min(target, size)
    return offset
  }

  private func skip(_ count: Int64) -> Int64 {
    let skipped = max(min(count, size - offset), 0)
    offset += skipped
    return skipped
  }
}
