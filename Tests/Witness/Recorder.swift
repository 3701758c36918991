import Foundation
import Glibc

/// Records what `sluice ingest` tells and what can be observed while it works: lines of its standard output,
/// the objects they name, lines of its files of events, calls of its webhooks.
///
/// A line of standard input is acknowledged by its echo, a call by its answer; each comes after the journal
/// is synced. Recording stops at the end of standard input. The writer has ended by then, and no other
/// process may work on the home, so the leases on record are lost.
final class Recorder {
  private let journal: Journal
  private let home: String?
  private let receiver: Receiver?
  private var tails: [EventTail]
  private var input = Data()

  /// - Parameters:
  ///   - home: the home whose objects are checked when they are named, and whose leases are recorded at the
  ///     end.
  ///   - events: files of events, by channel.
  ///   - calls: the channel whose calls are received, if any.
  init(journal path: String, home: String?, events: [String: String], calls: String?) throws {
    let last = Journal.last(path)
    let offsets = last?["saw"] as? String == "end" ? last?["offsets"] as? [String: Int] ?? [:] : [:]
    self.home = home
    journal = try Journal(appendingTo: path)
    tails = events.sorted { $0.key < $1.key }.map {
      EventTail($0.key, $0.value, offset: offsets[$0.key] ?? 0)
    }
    receiver = try calls.map { try Receiver(channel: $0) }
  }

  func run() throws {
    signal(SIGPIPE, SIG_IGN)
    try journal.append([["saw": "run"]])
    if let receiver { try acknowledge("{\"record\":\"listening\",\"port\":\(receiver.port)}\n") }
    while true {
      var polled = [pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)]
      if let receiver { polled.append(pollfd(fd: receiver.socket, events: Int16(POLLIN), revents: 0)) }
      if poll(&polled, nfds_t(polled.count), tails.isEmpty ? -1 : 50) < 0 && errno != EINTR {
        throw Trouble("poll", errno)
      }
      if let receiver, polled[1].revents != 0 {
        try receiver.serve { try journal.append([$0]) }
      }
      try journal.append(tails.indices.flatMap { try tails[$0].more() })
      if polled[0].revents != 0, try !readInput() { break }
    }
    try journal.append(tails.indices.flatMap { try tails[$0].more() })
    if let leases = lostLeases() { try journal.append([leases]) }
    let offsets = Dictionary(uniqueKeysWithValues: tails.map { ($0.channel, $0.offset) })
    try journal.append([["saw": "end", "offsets": offsets]])
  }

  /// - Returns: whether there may be more.
  private func readInput() throws -> Bool {
    var room = [UInt8](repeating: 0, count: 64 << 10)
    let count = read(STDIN_FILENO, &room, room.count)
    if count < 0 && errno == EINTR { return true }
    guard count > 0 else { return false }
    input += room[..<count]
    guard let end = input.lastIndex(of: UInt8(ascii: "\n")) else { return true }
    let lines = input[...end]
    input = Data(input[(end + 1)...])
    var entries: [[String: Any]] = []
    for line in lines.split(separator: UInt8(ascii: "\n")) {
      guard let record = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else { continue }
      entries.append(["saw": "told", "record": record])
      if let object = object(of: record) { entries.append(object) }
    }
    try journal.append(entries)
    try acknowledge(String(decoding: lines, as: UTF8.self))
    return true
  }

  private func acknowledge(_ lines: String) throws {
    try writeAll(Data(lines.utf8), to: STDOUT_FILENO)
  }

  /// The named object, as it is now.
  private func object(of record: [String: Any]) -> [String: Any]? {
    guard let home, let url = record["url"] as? String, let object = try? Store.look(home + "/store/" + url)
    else {
      return nil
    }
    return ["saw": "object", "path": url, "size": object.size, "sha256": object.sha256]
  }

  /// The leases of the ended coordinator. There may be no ledger yet, or no room to open it.
  private func lostLeases() -> [String: Any]? {
    guard let home, let ledger = try? Ledger(home + "/sluice.db") else { return nil }
    let jobs: [[String: Any]] = ledger.jobs.filter { $0.state == "leased" }.map { job in
      var entry: [String: Any] = [
        "job": job.name, "token": job.token ?? 0, "holder": job.holder ?? 0, "attempts": job.attempts,
      ]
      entry["attachment"] = job.attachment
      return entry
    }
    return ["saw": "leases", "holder": ledger.holder, "jobs": jobs]
  }
}

/// A file that grows by lines.
struct EventTail {
  let channel: String
  private let path: String
  private(set) var offset: Int

  init(_ channel: String, _ path: String, offset: Int) {
    (self.channel, self.path, self.offset) = (channel, path, offset)
  }

  /// An entry for each complete line since the last call.
  mutating func more() throws -> [[String: Any]] {
    guard let file = FileHandle(forReadingAtPath: path) else { return [] }  // not created yet
    // The file was truncated: unsynced lines may be written, and seen, again.
    if try file.seekToEnd() < UInt64(offset) { offset = 0 }
    try file.seek(toOffset: UInt64(offset))
    guard let data = try file.readToEnd(), let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    offset += data.distance(from: data.startIndex, to: end) + 1
    return data[..<end].split(separator: UInt8(ascii: "\n")).compactMap { line in
      // Bytes left by a power cut are not an event, and will be removed.
      guard let event = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else { return nil }
      return [
        "saw": "event", "channel": channel, "id": event["id"] as? String ?? "",
        "line": Digest.sha256(Data(line)),
      ]
    }
  }
}
