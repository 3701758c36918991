import CPlatform
import Glibc
import Ledger
import Platform
import Wire

/// The file that an attachment is read from.
package struct Source: Sendable {
  /// The attachment's, in this run.
  package var serial: UInt64
  package var path: [UInt8]
  /// The device of its folder when it was taken in, where that is known.
  package var folderDevice: Int64?

  init(serial: UInt64, _ source: AttachmentSource) {
    self.serial = serial
    switch source {
    case .file(_, let path, _, _, let device): (self.path, folderDevice) = (path, device)
    }
  }

  /// Opens it. It may be anything by now: a path that names no regular file, or leads over a symbolic link that was put there
  /// since, is a reason to fail. May block for as long as its file system does.
  package func open() -> Opening {
    let descriptor = path.withPath { sluice_open_source($0) }
    var facts = stat()
    if descriptor < 0 || fstat(descriptor, &facts) != 0 { return .failed(SourceFault(errno, self)) }
    if facts.st_mode & S_IFMT != S_IFREG {
      close(descriptor)
      return .failed(SourceFault("not-a-file", "it is a folder, a device, a socket or a pipe", .fail))
    }
    return .opened(descriptor, FileState(facts))
  }

  package enum Opening: Sendable {
    /// The descriptor belongs to the caller.
    case opened(Int32, FileState)
    case failed(SourceFault)
  }
}
