import CPlatform
import Glibc
import LedgerPort
import Platform
import Wire

/// The file that an attachment is read from, or that a transfer goes to.
package struct Source: Sendable {
  package enum Kind: Sendable {
    /// A file, and the device of its folder when it was taken in, where that is known.
    case file([UInt8], folderDevice: Int64?)
    /// A message in a mailbox file, and the device of that file's folder.
    case message(MboxPath, folderDevice: Int64?)
    /// An object at a path in the store; and what is shown of where its content came from.
    case object(String, [UInt8], DownloadsFolder)
    /// What a transfer fetched.
    case fetched(Int64, object: String?, DownloadsFolder)
    /// The file of a transfer, to write.
    case transfer(Int64, DownloadsFolder)
    /// Files of the home that are no longer needed: they are deleted.
    case removal([String])
    /// The file that a completed attachment was read from, deleted where it is that of an upload in this folder.
    case upload([UInt8], in: String)
  }

  /// The attachment's or the transfer's, in this run.
  package var serial: UInt64
  package var kind: Kind

  init(serial: UInt64, _ kind: Kind) {
    self.serial = serial
    self.kind = kind
  }

  init(serial: UInt64, _ source: AttachmentSource, _ downloads: DownloadsFolder) {
    switch source {
    case .file(_, let path, _, _, let device):
      let message = MboxPath(path)
      self.init(
        serial: serial,
        message.map { .message($0, folderDevice: device) } ?? .file(path, folderDevice: device))
    case .link(let transfer, _, .here(let object, _)):
      self.init(serial: serial, .fetched(transfer, object: object, downloads))
    case .link(let transfer, _, .failed):
      self.init(serial: serial, .fetched(transfer, object: nil, downloads))
    case .object(let path, _, let source):
      self.init(serial: serial, .object(path, source, downloads))
    }
  }

  /// The path of its file.
  package var path: [UInt8] {
    switch kind {
    case .file(let path, _), .object(_, let path, _): path
    case .message(let message, _): message.file
    case .fetched(let transfer, _, let folder), .transfer(let transfer, let folder):
      Array(folder.file(of: transfer).utf8)
    case .removal(let paths): Array((paths.first ?? "").utf8)
    case .upload(let path, _): path
    }
  }

  /// It is not opened, but deleted.
  var isRemoval: Bool {
    switch kind {
    case .removal, .upload: true
    case .file, .message, .object, .fetched, .transfer: false
    }
  }

  var folderDevice: Int64? {
    switch kind {
    case .file(_, let device), .message(_, let device): device
    case .object, .fetched, .transfer, .removal, .upload: nil
    }
  }

  /// Opens it. May block for as long as its file system does.
  package func open() -> Opening {
    switch kind {
    case .file(let path, _): open(path)
    case .message(let message, _): open(message)
    case .object(let path, _, let folder): folder.open(object: path)
    case .fetched(let transfer, let object, let folder): folder.open(fetched: transfer, object: object)
    case .transfer(let transfer, let folder): folder.open(transfer)
    case .removal(let paths): remove(paths)
    case .upload(let path, let folder): removeUpload(String(decoding: path, as: UTF8.self), folder)
    }
  }

  /// It may be anything by now: a path that names no regular file, or leads over a symbolic link that was put there since, is a
  /// reason to fail.
  private func open(_ path: [UInt8]) -> Opening {
    var descriptor = path.withPath { sluice_open_source($0) }
    if descriptor < 0, errno == ENOENT {
      // Programs of mail rename messages when they are read or flagged.
      if let renamed = MaildirPath(path)?.open({ sluice_open_source($0) }) {
        descriptor = renamed.descriptor
      } else {
        errno = ENOENT
      }
    }
    var facts = stat()
    if descriptor < 0 || fstat(descriptor, &facts) != 0 { return .failed(SourceFault(errno, self)) }
    if facts.st_mode & S_IFMT != S_IFREG {
      close(descriptor)
      return .failed(SourceFault("not-a-file", "it is a folder, a device, a socket or a pipe", .fail))
    }
    return .opened(descriptor, FileState(facts))
  }

  /// A copy of it: the mailbox is its user's, and changes.
  private func open(_ message: MboxPath) -> Opening {
    let mailbox: Int32
    switch open(message.file) {
    case .opened(let descriptor, _): mailbox = descriptor
    case let other: return other
    }
    defer { close(mailbox) }
    do {
      let copy = try message.copy(from: mailbox)
      var facts = stat()
      if fstat(copy.content, &facts) == 0 { return .copied(copy, FileState(facts)) }
      let fault = SourceFault(errno, self)
      copy.close()
      return .failed(fault)
    } catch {
      switch error {
      case .moved: return .failed(.movedMessage)
      case .system(let error): return .failed(SourceFault(error.code, self))
      }
    }
  }

  private func remove(_ paths: [String]) -> Opening {
    for path in paths { unlink(path) }
    return .removed
  }

  private func removeUpload(_ path: String, _ folder: String) -> Opening {
    guard let resolved = realpath(folder, nil) else { return .removed }
    defer { free(resolved) }
    let start = String(cString: resolved) + "/"
    // Any other file is its user's.
    if path.hasPrefix(start) && UploadRecord.isId(path.utf8.dropFirst(start.utf8.count)) {
      return remove([path, path + UploadRecord.doubtEnding])
    }
    return .removed
  }

  package enum Opening: Sendable {
    /// The descriptor belongs to the caller.
    case opened(Int32, FileState)
    /// A copy in memory, which belongs to the caller.
    case copied(MboxPath.Copy, FileState)
    case failed(SourceFault)
    case removed
  }
}
