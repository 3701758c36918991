import Glibc
import Platform

/// A temporary folder for a trial, deleted with its content when the object is released.
public final class ScratchFolder {
  public let path: String
  public let descriptor: Descriptor

  /// - Parameter place: where to make it, such as `$TMPDIR`.
  public init(in place: String) throws(WorkbenchError) {
    path = try Self.make(in: place)
    descriptor = try Self.open(path)
  }

  private static func make(in place: String) throws(WorkbenchError) -> String {
    var template = (place + "/sluice-trial-XXXXXX").utf8CString.map(\.self)
    if mkdtemp(&template) == nil {
      throw WorkbenchError(
        .configuration,
        "\(SystemError("making a folder in \(place)")); name one that can be written, with TMPDIR=")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func open(_ path: String) throws(WorkbenchError) -> Descriptor {
    do throws(SystemError) {
      return try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    } catch {
      throw WorkbenchError(.system, "\(error)", cause: error)
    }
  }

  deinit {
    Self.remove(path)
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
      mkdir(folder, 0o700)  // if this fails, so does the next call
    }
  }

  /// Deletes all files below the folder. Folders stay, because workers have them open.
  public func empty() {
    for file in files { unlink("\(path)/\(file)") }
  }

  /// Every file below it, by its path there, in order.
  public var files: [String] { Self.files(path, "").sorted() }

  private static func files(_ folder: String, _ prefix: String) -> [String] {
    names(folder).flatMap { name in
      let path = "\(folder)/\(name)"
      var facts = stat()
      let isFolder = lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
      return isFolder ? files(path, prefix + name + "/") : [prefix + name]
    }
  }

  private static func names(_ folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func remove(_ folder: String) {
    for name in names(folder) {
      let path = "\(folder)/\(name)"
      // A folder, or else a name that goes.
      if unlink(path) != 0 { remove(path) }
    }
    rmdir(folder)
  }
}
