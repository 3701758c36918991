import Glibc

/// A temporary folder, deleted on deinitialization.
final class ScratchFolder {
  let descriptor: Int32
  private let path: String
  private var names: Set<String> = []

  init() throws(Violation) {
    // In memory if possible: a million disk syncs do not test a parser.
    var template = Array(
      "\(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")/sluice-fuzz-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw Violation(description: "no folder") }
    path = String(cString: made)
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  }

  deinit {
    for name in names { unlinkat(descriptor, name, 0) }
    close(descriptor)
    rmdir(path)
  }

  func write(_ bytes: [UInt8], to name: String) throws(Violation) {
    names.insert(name)
    let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    defer { close(file) }
    try demand(Glibc.write(file, bytes, bytes.count) == bytes.count, "writing \(name)")
  }

  func read(_ name: String) -> [UInt8] {
    let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    bytes.removeSubrange(max(Glibc.read(file, &bytes, bytes.count), 0)...)
    return bytes
  }
}
