import Foundation

/// The fault library's journal: all operations on files below the home, and everything printed, in order. See
/// Tests/Fixtures/Faults/faults.h.
struct Journal {
  enum Operation {
    /// A file was opened; `isNew`: it was created.
    case open(ino: UInt64, path: String, isNew: Bool)
    case write(ino: UInt64, offset: Int, data: [UInt8])
    case truncate(ino: UInt64, length: Int)
    /// A sync of a file's data, or of a folder's names.
    case sync(ino: UInt64, path: String)
    case rename(from: String, to: String)
    case link(from: String, to: String)
    case unlink(String)
    case mkdir(String)
    case told([UInt8])
  }

  let operations: [Operation]

  init(_ file: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
    var operations: [Operation] = []
    var place = 0
    func integer(_ offset: Int, _ size: Int) -> UInt64 {
      bytes[place + offset..<place + offset + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    while place + 48 <= bytes.count {
      let size = Int(integer(0, 4))
      let ino = integer(8, 8)
      let offset = Int(integer(16, 8))
      let pathCount = Int(integer(24, 4))
      let otherCount = Int(integer(28, 4))
      let names = place + 40
      let path = String(decoding: bytes[names..<names + pathCount], as: UTF8.self)
      let other = String(decoding: bytes[names + pathCount..<names + pathCount + otherCount], as: UTF8.self)
      let data = Array(bytes[names + pathCount + otherCount..<place + size])
      switch integer(4, 2) {
      case 1 where integer(6, 2) == 2: break  // for folders, only syncs count
      case 1: operations.append(.open(ino: ino, path: path, isNew: integer(6, 2) == 1))
      case 2: operations.append(.write(ino: ino, offset: offset, data: data))
      case 3: operations.append(.truncate(ino: ino, length: offset))
      case 4: operations.append(.sync(ino: ino, path: path))
      case 5: operations.append(.rename(from: path, to: other))
      case 6: operations.append(.link(from: path, to: other))
      case 7: operations.append(.unlink(path))
      case 8: operations.append(.mkdir(path))
      default: operations.append(.told(data))
      }
      place += size
    }
    self.operations = operations
  }
}
