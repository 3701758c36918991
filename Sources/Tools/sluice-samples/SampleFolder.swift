import Glibc

/// The folder the samples go to.
struct SampleFolder {
  let path: String

  /// Creates the folder and its missing parents.
  ///
  /// Throws `SampleError` when one of them cannot be made or is not a folder.
  init(creating path: String) throws {
    self.path = path
    for parent in Self.ancestry(of: path) where mkdir(parent, 0o777) != 0 {
      // A read-only file system or an unwritable parent may be reported instead of EEXIST: check first
      // whether the folder exists.
      let code = errno
      var status = stat()
      guard stat(parent, &status) == 0 else { throw SampleError("cannot create \(parent)", code: code) }
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw SampleError("cannot create \(parent)", code: ENOTDIR)
      }
    }
  }

  /// `a/b/c` gives `a`, `a/b`, `a/b/c`.
  static func ancestry(of path: String) -> [String] {
    let slashes = path.indices.dropFirst().filter { path[$0] == "/" }
    return slashes.map { String(path[..<$0]) } + [path]
  }

  /// Writes one sample and returns the line that reports it.
  ///
  /// The bytes go to a temporary file that then replaces the old one. Processes that have the old file open,
  /// and hard links in a store, keep the old bytes. Throws `SampleError` and leaves no temporary file.
  func write(_ sample: Sample) throws -> String {
    let bytes = try sample.content()
    let target = path.hasSuffix("/") ? path + sample.fileName : path + "/" + sample.fileName
    let temporary = target + ".part"
    do {
      try Self.write(bytes, to: temporary)
      guard rename(temporary, target) == 0 else {
        throw SampleError("cannot replace \(target)", code: errno)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    return "\(target)  \(bytes.count)  \(sample.purpose)"
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw SampleError("cannot write \(path)", code: errno) }
    var code: Int32 = 0
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty && code == 0 {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          code = errno
        }
      }
    }
    // Network file systems report a full disk only here.
    if close(descriptor) != 0 && code == 0 { code = errno }
    guard code == 0 else { throw SampleError("cannot write \(path)", code: code) }
  }
}
