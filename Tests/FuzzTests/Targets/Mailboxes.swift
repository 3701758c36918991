import Glibc
import Manifest
import Platform

extension FuzzTarget {
  /// A mailbox file: its messages lie one behind the other, each behind a line that begins one, and their places are read as written.
  static let mailbox = FuzzTarget(name: "mailbox") { bytes in
    let file = try MemoryFile(bytes)
    let reader = try MboxReader(file.descriptor)
    let isMailbox = MboxReader.isMailbox(file.descriptor)
    var end: Int64 = 0
    var count = 0
    while let message = try reader.next() {
      count += 1
      try demand(message.range.lowerBound > end || end == 0, "message \(count) begins in the one before it")
      try demand(message.range.upperBound <= Int64(bytes.count), "message \(count) ends behind the file")
      let before = bytes[..<Int(message.range.lowerBound)]
      let line = before.dropLast().lastIndex(of: 0x0A).map { before[($0 + 1)...] } ?? before
      try demand(line.starts(with: "From ".utf8), "message \(count) does not follow a line that begins one")
      end = message.range.upperBound
      let place = MboxPath(file: Array("/m".utf8), message.range, sha256: message.sha256)
      try demand(MboxPath(place.path) == place, "the place of message \(count)")
      let copy = try place.copy(from: file.descriptor)
      copy.close()
    }
    try demand(!reader.hasChanged, "it was not written to")
    try demand(count == 0 || bytes.starts(with: "From ".utf8) || !isMailbox, "what is a mailbox begins so")
  }
}
