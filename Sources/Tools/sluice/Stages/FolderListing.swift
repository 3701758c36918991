import Glibc

/// The names in a folder, in the order of their bytes.
///
/// They lie end to end in one buffer: a folder of a million files must not need a million arrays.
struct FolderListing: Sequence {
  private var bytes: [UInt8] = []
  private var ranges: [(start: UInt32, count: UInt8)] = []

  /// `nil`: the folder cannot be listed; see errno.
  init?(_ path: [UInt8]) {
    guard let folder = path.withPath({ opendir($0) }) else { return nil }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      withUnsafeBytes(of: &entry.pointee.d_name) { name in
        let name = name.prefix { $0 != 0 }
        if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { return }
        ranges.append((UInt32(bytes.count), UInt8(name.count)))
        bytes.append(contentsOf: name)
      }
    }
    let names = bytes
    ranges.sort { first, second in
      names.withUnsafeBytes { all in
        all[Int(first.start)..<Int(first.start) + Int(first.count)]
          .lexicographicallyPrecedes(all[Int(second.start)..<Int(second.start) + Int(second.count)])
      }
    }
  }

  func makeIterator() -> AnyIterator<[UInt8]> {
    var next = ranges.makeIterator()
    return AnyIterator {
      next.next().map { Array(bytes[Int($0.start)..<Int($0.start) + Int($0.count)]) }
    }
  }
}
