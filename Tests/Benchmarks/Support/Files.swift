import Glibc
import Platform

/// Files and folders, with errors that name the path.
enum Files {
  static func bytes(_ path: String) throws -> [UInt8] {
    let file = try Descriptor.open(path, O_RDONLY)
    var content: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(file.number, &room, room.count)
      if count < 0 { throw SystemError("reading \(path)") }
      if count == 0 { return content }
      content += room[..<count]
    }
  }

  static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

  static func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

  static func write(_ bytes: [UInt8], _ more: [UInt8] = [], to path: String) throws {
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
    for part in [bytes, more] {
      var done = 0
      while done < part.count {
        let count = part.withUnsafeBytes {
          Glibc.write(file.number, $0.baseAddress.map { $0 + done }, part.count - done)
        }
        if count < 0 { throw SystemError("writing \(path)") }
        done += count
      }
    }
  }

  /// Creates a folder and its missing parents.
  static func makeFolder(_ path: String) throws {
    if mkdir(path, 0o755) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      throw SystemError("making \(path)")
    }
    try makeFolder(String(path[..<slash]))
    if mkdir(path, 0o755) != 0 && errno != EEXIST { throw SystemError("making \(path)") }
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// The files below a folder, with their lstat(2) data; symbolic links and special files are skipped.
  static func walk(_ folder: String, _ body: (String, stat) throws -> Void) throws {
    guard let stream = opendir(folder) else { throw SystemError("opening \(folder)") }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      let path = folder + "/" + name
      var facts = stat()
      if lstat(path, &facts) != 0 { continue }
      switch facts.st_mode & S_IFMT {
      case S_IFDIR: try walk(path, body)
      case S_IFREG: try body(path, facts)
      default: break
      }
    }
  }

  /// The paths of all files below a folder, in order.
  static func list(_ folder: String) throws -> [String] {
    var paths: [String] = []
    try walk(folder) { path, _ in paths.append(path) }
    return paths.sorted()
  }

  /// The last bytes of a file, on one line, for messages.
  static func tail(_ path: String) -> String {
    guard let text = try? text(path) else { return "" }
    return text.suffix(600).split(separator: "\n").suffix(5).joined(separator: " | ")
  }

  /// Deletes a folder with all its content.
  static func delete(_ folder: String) throws {
    if !exists(folder) { return }
    try Child(["/bin/rm", "-rf", folder], out: "/dev/null").end(as: 0)
  }
}
