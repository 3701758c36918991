import Glibc
import Ledger
import Pipeline

/// Why a source does not open, and whose fault that is.
///
/// A file that is gone while its folder is there is the attachment's own fault, and fails. A folder that is away, a full table
/// of files or a broken disk is the host's: the attachment waits until that is put right, however long it takes.
struct SourceFault {
  enum Remedy: Equatable {
    /// It is the file's own, and stays.
    case fail
    /// It is the file's own, and may pass: tried again, as often as `retry` says.
    case retry
    /// It is the host's. The place is what has to be put right: a folder, or the file where only that is out of reach.
    case wait(place: String)
  }

  var reason: Reason
  var remedy: Remedy

  /// The source of an attachment, whose opening failed with this errno.
  init(_ number: Int32, _ attachment: LeasedAttachment) {
    let folder = SourceFolder(of: attachment.source)
    let text = "opening the file: \(String(cString: strerror(number)))"
    switch number {
    case ENOENT, ENOTDIR:
      if let away = folder.absence(takenInOn: attachment.folderDevice) {
        self.init("source-away", "\(away.message); \(Self.toWait)", .wait(place: away.place))
      } else {
        self.init("missing", text, .retry)
      }
    case ELOOP where !folder.isLink(attachment.source):
      self.init(
        "source-away", "a folder of its path is a symbolic link now; \(Self.toWait)",
        .wait(place: folder.path))
    case ELOOP, ENXIO:
      self.init("not-a-file", "\(text); it was a file when it was taken in", .fail)
    case EACCES, EPERM:
      if folder.isOpen(attachment.source) {
        self.init("unreadable", text, .retry)
      } else {
        self.init(
          "source-away", "its folder may not be searched: \(String(cString: strerror(number))); \(Self.toWait)",
          .wait(place: folder.path))
      }
    case ENAMETOOLONG, EINVAL: self.init("unreadable", text, .fail)
    default: self.init("source-away", "\(text); \(Self.toWait)", .wait(place: folder.path))
    }
  }

  init(_ code: String, _ message: String, _ remedy: Remedy) {
    reason = Reason(stage: "source", code: code, message: message)
    self.remedy = remedy
  }

  private static let toWait = "it waits in the queue until that is put right"
}

/// The folder that a source lay in when it was taken in.
private struct SourceFolder {
  let path: String

  init(of source: [UInt8]) {
    let slash = source.lastIndex(of: UInt8(ascii: "/")) ?? 0
    path = slash == 0 ? "/" : String(decoding: source[..<slash], as: UTF8.self)
  }

  /// What shows that the folder is not the one that the file was taken from; `nil`: it is there.
  func absence(takenInOn device: Int64?) -> (place: String, message: String)? {
    // The topmost folder that is missing says most.
    var end = path.startIndex
    while end < path.endIndex {
      end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
      let folder = String(path[..<end])
      var facts = stat()
      if stat(folder, &facts) != 0 {
        return (folder, "the folder \(folder) is away: \(String(cString: strerror(errno)))")
      }
      if facts.st_mode & S_IFMT != S_IFDIR { return (folder, "\(folder) is no folder any more") }
    }
    var facts = stat()
    guard let device, stat(path, &facts) == 0, Int64(bitPattern: UInt64(facts.st_dev)) != device else {
      return nil
    }
    return (path, "the folder \(path) lies on another file system than when the file was taken in: is it mounted?")
  }

  func isLink(_ source: [UInt8]) -> Bool { facts(of: source).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false }

  /// Whether the folder lets this user get at what lies in it.
  func isOpen(_ source: [UInt8]) -> Bool { facts(of: source) != nil }

  private func facts(of source: [UInt8]) -> stat? {
    var facts = stat()
    let result = (source + [0]).withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { $0.baseAddress.map { lstat($0, &facts) } ?? -1 }
    }
    return result == 0 ? facts : nil
  }
}
