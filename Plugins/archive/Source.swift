import CArchive
import Glibc
import StageKit

/// The content as libarchive reads it. A position of its own, so that the descriptor's does not matter.
final class Source {
  let attachment: Attachment
  /// Why the content could not be read.
  private(set) var failure: Outcome?
  private let buffer: UnsafeMutableRawBufferPointer
  private var offset: Int64
  /// Where the content begins for libarchive, and where it ends.
  private let start: Int64
  private let end: Int64
  /// Bytes that libarchive gets in the place of the content's, in order.
  private let marks: [(place: Int64, byte: UInt8)]

  init(
    _ attachment: Attachment, _ buffer: UnsafeMutableRawBufferPointer, from start: Int64 = 0,
    end: Int64? = nil, marks: [(place: Int64, byte: UInt8)] = []
  ) {
    self.attachment = attachment
    self.buffer = buffer
    self.marks = marks
    (self.start, offset) = (start, start)
    self.end = min(end ?? attachment.size, attachment.size)
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
      let rest = Int(min(Int64(buffer.count), max(end - offset, 0)))
      if rest == 0 { return 0 }
      let count = try attachment.read(
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<rest]), at: offset)
      var index = firstMark(from: offset)
      while index < marks.count, marks[index].place < offset + Int64(count) {
        buffer[Int(marks[index].place - offset)] = marks[index].byte
        index += 1
      }
      offset += Int64(count)
      return count
    } catch {
      failure = error
      return -1
    }
  }

  private func firstMark(from offset: Int64) -> Int {
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if marks[middle].place < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func seek(_ by: Int64, _ whence: Int32) -> Int64 {
    let base: Int64 =
      switch whence {
      case SEEK_SET: start
      case SEEK_CUR: offset
      default: end
      }
    let (target, isTooFar) = base.addingReportingOverflow(by)
    if isTooFar || target < start { return -1 }
    offset = min(target, end)
    return offset - start
  }

  private func skip(_ count: Int64) -> Int64 {
    let skipped = max(min(count, end - offset), 0)
    offset += skipped
    return skipped
  }
}
