import CPlatform
import Glibc
@testable import StageKit

/// Bytes as a file without a name.
final class MemoryFile {
  let descriptor: Int32
  private let attachment = UnsafeMutablePointer<sluice_attachment>.allocate(capacity: 1)
  private let host = UnsafeMutablePointer<sluice_host>.allocate(capacity: 1)

  init(_ bytes: [UInt8]) throws(Violation) {
    descriptor = sluice_memfd("fuzz", 0)
    try demand(descriptor >= 0 && pwrite(descriptor, bytes, bytes.count, 0) == bytes.count, "no memory")
    attachment.initialize(to: sluice_attachment())
    attachment.pointee.content = descriptor
    attachment.pointee.content_size = UInt64(bytes.count)
    host.initialize(to: sluice_host())
  }

  deinit {
    close(descriptor)
    attachment.deallocate()
    host.deallocate()
  }

  /// A path for readers that open the file themselves.
  var path: String { "/proc/self/fd/\(descriptor)" }

  /// The file as a stage gets it. It can be read, but no host call can be made; valid as long as this object.
  var content: Attachment { Attachment(attachment, call: OpaquePointer(host), host: host) }
}
