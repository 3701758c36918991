import Foundation
import Glibc

/// The witness's own record, one line of JSON per observation. A line is valid once it is synced; only then
/// is the observation acknowledged.
final class Journal {
  private let descriptor: Int32

  init(appendingTo path: String) throws {
    descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Trouble(path, errno) }
    // The name must survive a power cut, as well as the lines.
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw Trouble(path, errno) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw Trouble(path, errno) }
  }

  deinit {
    close(descriptor)
  }

  func append(_ entries: [[String: Any]]) throws {
    if entries.isEmpty { return }
    var lines = Data()
    for entry in entries {
      lines += try JSONSerialization.data(withJSONObject: entry, options: [.sortedKeys])
      lines.append(UInt8(ascii: "\n"))
    }
    try writeAll(lines, to: descriptor)
    guard fdatasync(descriptor) == 0 else { throw Trouble("the journal", errno) }
  }

  /// Every entry. An incomplete last line was never acknowledged.
  static func read(_ path: String) throws -> [[String: Any]] {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    let end = data.lastIndex(of: UInt8(ascii: "\n")) ?? data.startIndex
    return try data[..<end].split(separator: UInt8(ascii: "\n")).map { line in
      guard let entry = try JSONSerialization.jsonObject(with: line) as? [String: Any] else {
        throw Trouble(path, EINVAL)
      }
      return entry
    }
  }

  /// The last entry, without reading the others.
  static func last(_ path: String) -> [String: Any]? {
    guard let file = FileHandle(forReadingAtPath: path), let size = try? file.seekToEnd(), size > 1 else {
      return nil
    }
    try? file.seek(toOffset: size > 4096 ? size - 4096 : 0)
    guard let end = try? file.readToEnd(), let line = end.split(separator: UInt8(ascii: "\n")).last else {
      return nil
    }
    return try? JSONSerialization.jsonObject(with: line) as? [String: Any]
  }
}

/// A file that cannot be used.
struct Trouble: Error, CustomStringConvertible {
  var description: String

  init(_ subject: String, _ number: Int32) {
    description = "\(subject): \(String(cString: strerror(number)))"
  }
}

func writeAll(_ data: Data, to descriptor: Int32) throws {
  try data.withUnsafeBytes { bytes in
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Trouble("writing", errno) }
      rest = rest.dropFirst(count)
    }
  }
}
