import Glibc
import Platform

/// The case files that a command line names.
enum CaseFiles {
  static let name = "cases.yaml"

  /// - Parameter path: a file; a folder with a `cases.yaml`; or a folder whose folders have one.
  static func find(_ path: String) throws(CommandError) -> [String] {
    if path.isEmpty { throw .usage("a PATH of `sluice test` is empty; name a file or a folder") }
    var facts = stat()
    if stat(path, &facts) != 0 {
      throw .usage(
        "\(Terminal.printable(path)): \(String(cString: strerror(errno))); name a \(name), or a folder with one"
      )
    }
    if facts.st_mode & S_IFMT != S_IFDIR { return [path] }
    let folder = path.hasSuffix("/") ? String(path.dropLast()) : path
    if access("\(folder)/\(name)", F_OK) == 0 { return [folder == "." ? name : "\(folder)/\(name)"] }
    guard let names = FolderListing(Array(folder.utf8)) else {
      throw .usage(
        "\(Terminal.printable(path)): \(String(cString: strerror(errno))); name a \(name), or a folder with one"
      )
    }
    let files: [String] = names.map { "\(folder)/\(String(decoding: $0, as: UTF8.self))/\(Self.name)" }
      .filter { access($0, F_OK) == 0 }
    if files.isEmpty {
      throw .usage(
        "\(Terminal.printable(path)) has no \(name), nor has any of its folders; write one, or name another folder"
      )
    }
    return files
  }

  /// Replaces a file atomically.
  static func replace(_ file: String, with bytes: [UInt8]) throws(CommandError) {
    let beside = "\(file).new"
    var facts = stat()
    let mode = stat(file, &facts) == 0 ? facts.st_mode & 0o777 : 0o644
    do throws(SystemError) {
      let target = try Descriptor.open(beside, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
      guard write(target.number, bytes, bytes.count) == bytes.count, fsync(target.number) == 0 else {
        throw SystemError("writing \(beside)")
      }
      if rename(beside, file) != 0 { throw SystemError("replacing \(file)") }
    } catch {
      if error.code == EEXIST {
        throw CommandError(
          .usage,
          "\(beside) is where the new version would be written, and is there already; take it away, and run again"
        )
      }
      unlink(beside)
      throw CommandError(.internalError, "\(error); the cases are as they were")
    }
  }
}
