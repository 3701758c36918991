import Glibc
import Platform

/// A folder for a trial that goes when it ends, with all it holds.
final class ScratchFolder {
  let path: String
  let descriptor: Descriptor

  init() throws(SystemError) {
    let place = Environment.variables["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    var template = (place + "/sluice-trial-XXXXXX").utf8CString.map(\.self)
    if mkdtemp(&template) == nil { throw SystemError("making a folder in \(place)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    descriptor = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
  }

  deinit {
    Self.remove(Array(path.utf8))
  }

  private static func remove(_ folder: [UInt8]) {
    if let names = FolderListing(folder) {
      for name in names {
        let path = folder + [UInt8(ascii: "/")] + name
        // A folder, or else a name that goes.
        if InputWalker.withPath(path, { unlink($0) }) != 0 { remove(path) }
      }
    }
    _ = InputWalker.withPath(folder) { rmdir($0) }
  }
}
