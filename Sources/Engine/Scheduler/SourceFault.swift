import Glibc
import Pipeline
import Platform

/// Why a source does not open, and whose fault that is.
///
/// A file that is gone while its folder is there is the attachment's own fault, and fails. A folder that is away, a full table
/// of files or a broken disk is the host's: the attachment waits until that is put right, however long it takes.
package struct SourceFault: Sendable {
  package enum Remedy: Equatable, Sendable {
    /// It is the file's own, and stays.
    case fail
    /// It is the file's own, and may pass: tried again, as often as `retry` says.
    case retry
    /// It is the host's. The place is what has to be put right, a folder or the file; `giveUp` says how to let its
    /// attachments fail where that will never be.
    case wait(place: String, giveUp: String)
    /// A transfer cannot be written: the lane pauses.
    case pause
    /// What a transfer fetched is gone: it is fetched again.
    case fetchAgain
  }

  var reason: Reason
  var remedy: Remedy

  /// A source whose opening failed with this errno.
  init(_ number: Int32, _ source: Source) {
    let folder = SourceFolder(of: source.path)
    let text = "opening the file: \(String(cString: strerror(number)))"
    switch number {
    case ENOENT, ENOTDIR:
      if let away = folder.absence(takenInOn: source.folderDevice) {
        self.init(
          "source-away", "\(away.message); \(Self.toWait)", .wait(place: away.place, giveUp: away.giveUp))
      } else {
        self.init("missing", text, .retry)
      }
    case ELOOP where !folder.isLink(source.path):
      self.init(
        "source-away", "\(folder.firstLink ?? folder.path) is a symbolic link now; \(Self.toWait)",
        .wait(
          place: folder.firstLink ?? folder.path,
          giveUp: "take the link away, and make an empty folder in its place"))
    case ELOOP, ENXIO:
      self.init("not-a-file", "\(text); it was a file when it was taken in", .fail)
    case EACCES, EPERM:
      if folder.isOpen(source.path) {
        self.init("unreadable", text, .retry)
      } else {
        self.init(
          "source-away",
          "its folder may not be searched: \(String(cString: strerror(number))); \(Self.toWait)",
          .wait(place: folder.path, giveUp: "let this user search it, and take the files away"))
      }
    case ENAMETOOLONG, EINVAL: self.init("unreadable", text, .fail)
    case EBUSY: self.init("not-a-file", "it is the ledger of this home by another name", .fail)
    default:
      self.init(
        "source-away", "\(text); \(Self.toWait)", .wait(place: folder.path, giveUp: Self.takeAway))
    }
  }

  package init(_ code: String, _ message: String, _ remedy: Remedy) {
    reason = Reason(stage: "source", code: code, message: message)
    self.remedy = remedy
  }

  /// A message that is not at its place in its mailbox any more.
  static var movedMessage: SourceFault {
    SourceFault(
      "source-changed",
      "its mailbox was changed, and the message is not where it was; take the mailbox in again, which finds its place, and retry; if it is in there no more, delete the attachment",
      .retry)
  }

  static let takeAway = "take the files away"
  static let toWait = "it waits in the queue until that is put right"
}

/// The folder that a source lay in when it was taken in.
private struct SourceFolder {
  let path: String

  init(of source: [UInt8]) {
    let slash = source.lastIndex(of: UInt8(ascii: "/")) ?? 0
    path = slash == 0 ? "/" : String(decoding: source[..<slash], as: UTF8.self)
  }

  /// What shows that the folder is not the one that the file was taken from; `nil`: it is there.
  ///
  /// Where nothing is mounted any more, there is an empty folder on another device. Where something is mounted anew, the
  /// device may have another number, and the folder is not empty.
  func absence(takenInOn device: Int64?) -> (place: String, message: String, giveUp: String)? {
    // The topmost folder that is missing says most.
    var end = path.startIndex
    while end < path.endIndex {
      end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
      let folder = String(path[..<end])
      var facts = stat()
      if stat(folder, &facts) != 0 {
        return (folder, "the folder \(folder) is away: \(String(cString: strerror(errno)))", Self.remake)
      }
      if facts.st_mode & S_IFMT != S_IFDIR {
        return (folder, "\(folder) is no folder any more", Self.remake)
      }
    }
    var facts = stat()
    guard let device, stat(path, &facts) == 0, Int64(bitPattern: UInt64(facts.st_dev)) != device, isEmpty
    else { return nil }
    return (
      path,
      "the folder \(path) is empty, and on another file system than when the file was taken in: is it mounted?",
      "put any file there"
    )
  }

  /// The first folder on the way that is a symbolic link.
  var firstLink: String? {
    var facts = stat()
    var end = path.startIndex
    while end < path.endIndex {
      end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
      let folder = String(path[..<end])
      if lstat(folder, &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK { return folder }
    }
    return nil
  }

  private static let remake = "make an empty folder in its place"

  private var isEmpty: Bool {
    guard let listing = opendir(path) else { return false }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let isOwn = withUnsafeBytes(of: entry.pointee.d_name) {
        $0[0] == 0x2E && ($0[1] == 0 || ($0[1] == 0x2E && $0[2] == 0))
      }
      if !isOwn { return false }
    }
    return true
  }

  func isLink(_ source: [UInt8]) -> Bool { facts(of: source).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false }

  /// Whether the folder lets this user get at what lies in it.
  func isOpen(_ source: [UInt8]) -> Bool { facts(of: source) != nil }

  private func facts(of source: [UInt8]) -> stat? {
    var facts = stat()
    let result = source.withPath { lstat($0, &facts) }
    return result == 0 ? facts : nil
  }
}
