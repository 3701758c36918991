import Glibc
import Platform

/// A temporary folder for a trial, deleted with its content when the object is released.
///
/// A program that is killed leaves its folder. So each holds a lock on its own, and the next program deletes those that
/// no program holds.
public final class ScratchFolder {
  public let path: String
  public let descriptor: Descriptor
  /// Locked, and open in no worker: the lock ends with this program.
  private let lock: Descriptor
  /// Folders made for objects, by their path, parents first.
  private var made: [String] = []

  /// - Parameter place: where to make it, such as `$TMPDIR`.
  public init(in place: String) throws(WorkbenchError) {
    AbandonedFolders.sweep(place)
    // Another program may find it before it is locked, and delete it.
    while true {
      let path = try Self.make(in: place)
      do throws(SystemError) {
        let lock = try Self.open(path)
        if !Self.isHeld(by: lock) { continue }
        descriptor = try Self.open(path)
        self.path = path
        self.lock = lock
        return
      } catch {
        if error.code == ENOENT { continue }
        throw WorkbenchError(.system, "\(error)", cause: error)
      }
    }
  }

  /// Locks the folder. False: it is there no more.
  private static func isHeld(by lock: borrowing Descriptor) -> Bool {
    // Where the file system has no locks, no program takes the folder for abandoned either.
    flock(lock.number, LOCK_EX)
    var facts = stat()
    return fstat(lock.number, &facts) == 0 && facts.st_nlink > 0
  }

  private static func make(in place: String) throws(WorkbenchError) -> String {
    var template = (place + "/\(AbandonedFolders.prefix)XXXXXX").utf8CString.map(\.self)
    if mkdtemp(&template) == nil {
      throw WorkbenchError(
        .configuration,
        "\(SystemError("making a folder in \(place)")); name one that can be written, with TMPDIR=")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func open(_ path: String) throws(SystemError) -> Descriptor {
    try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
  }

  deinit {
    FolderTree.remove(path)
  }

  /// Writes a file below the folder, and creates missing parent folders.
  func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
    makeFolders(of: path)
    let file = try Descriptor.open("\(self.path)/\(path)", O_WRONLY | O_CREAT | O_TRUNC)
    guard Glibc.write(file.number, bytes, bytes.count) == bytes.count else {
      throw SystemError("writing \(path)")
    }
  }

  /// Moves the object that a stage staged for the attachment to its path, as the coordinator does. If there
  /// is none, the path already holds the content.
  func publish(_ id: String, to location: String) throws(SystemError) {
    makeFolders(of: location)
    if rename("\(path)/.incoming/\(id)", "\(path)/\(location)") != 0 && errno != ENOENT {
      throw SystemError("naming the object \(location)")
    }
  }

  private func makeFolders(of path: String) {
    var folder = self.path
    for part in path.split(separator: "/").dropLast() {
      folder += "/\(part)"
      if mkdir(folder, 0o700) == 0 { made.append(folder) }  // if this fails, so does the next call
    }
  }

  /// Deletes all files below the folder, and the folders that were made for objects: each trial makes its own. Those of
  /// stages stay, because workers have them open.
  public func empty() {
    for file in files { unlink("\(path)/\(file)") }
    for folder in made.reversed() { rmdir(folder) }  // one with a folder of a stage in it stays
    made = []
  }

  /// Every file below it, by its path there, in order.
  public var files: [String] { Self.files(path, "").sorted() }

  private static func files(_ folder: String, _ prefix: String) -> [String] {
    FolderTree.names(folder).flatMap { name in
      let path = "\(folder)/\(name)"
      var facts = stat()
      let isFolder = lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
      return isFolder ? files(path, prefix + name + "/") : [prefix + name]
    }
  }
}
