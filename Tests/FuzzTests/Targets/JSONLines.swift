import Glibc
import StageKit

@testable import JSONLinesChannel

extension FuzzTarget {
  /// A file of events, perhaps with an incomplete line.
  static let jsonl = FuzzTarget(name: "jsonl") { bytes in
    try check(bytes)
    // The same across the end of the first buffer.
    let head = Array("{\"id\":\"filler\",\"x\":\"".utf8)
    let filler = [UInt8](repeating: UInt8(ascii: "x"), count: (256 << 10) - head.count - bytes.count / 2)
    try check(head + filler + Array("\"}\n".utf8) + bytes)
  }

  private static func check(_ bytes: [UInt8]) throws {
    let folder = try ScratchFolder()
    try folder.write(bytes, to: "events")
    let journal: Journal
    do throws(Outcome) {
      journal = try Journal("events", in: folder.descriptor)
    } catch {
      return try demand(folder.read("events") == bytes, "a file that was refused has changed")
    }
    // From the first zero byte on, which a power cut leaves, nothing is valid.
    let end = bytes.prefix { $0 != 0 }.lastIndex(of: 10).map { $0 + 1 } ?? 0
    let whole = Array(bytes[..<end])
    try demand(folder.read("events") == whole, "not cut behind its last whole line")
    let ids = ids(in: whole)
    let wanted = ids.union(ids.map { String($0.dropLast()) }).union(["not there"])
    try demand(try journal.ids(among: wanted) == ids, "found other events than \(ids)")
    let line = Array("{\"id\":\"added\"}\n".utf8)
    try journal.append(line)
    try demand(folder.read("events") == whole + line, "appending changed what was there")
    try demand(try journal.ids(among: ["added"]) == ["added"], "the line that was added is not found")
  }

  /// The ids of all lines that begin like an event, in plain letters.
  private static func ids(in bytes: [UInt8]) -> Set<String> {
    Set(
      bytes.split(separator: 10).filter { $0.starts(with: Journal.opening) }.compactMap { line in
        let rest = line.dropFirst(Journal.opening.count)
        guard let quote = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let id = rest[..<quote]
        return id.count <= 64 && id.allSatisfy({ (0x21..<0x7F).contains($0) }) ? text(id) : nil
      })
  }
}
