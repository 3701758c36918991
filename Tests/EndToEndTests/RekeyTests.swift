import Foundation
import Testing

/// `sluice rekey`: another key for what is sealed.
@Suite(.serialized)
struct RekeyTests {
  private let folder: TemporaryFolder
  private let environment: [String: String]
  private static let secret = "hush9c41e7b2"

  init() throws {
    folder = try TemporaryFolder()
    environment = ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]
    for (name, byte) in [("first", "11"), ("second", "2a"), ("third", "3b")] {
      try folder.write("\(name).key", (0..<31).map { _ in byte }.joined() + "c4\n")
      chmod("\(folder.path)/\(name).key", 0o600)
    }
    try write(key: "first")
  }

  private func write(key: String, old: String? = nil, token: String = "bad") throws {
    let older = old.map { ", old: [\"file:\(folder.path)/\($0).key\"]" } ?? ""
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      secrets: { key: "file:\(folder.path)/\(key).key"\(older) }
      lanes:
        downloads: { use: well, connections: 8, min-free: 1MB, credential: files }
      credentials:
        files: { header: "authorization: \(token)", hosts: [files.example.com] }
      stages:
        - use: store
          options: { path: "{sha256}" }
        - use: notify
          options: { channels: events }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
      """)
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, environment: environment)
  }

  /// Takes in so many links, none of which is fetched: the token is not taken.
  private func fill(_ count: Int) throws {
    let lines = (1...count).map {
      #"{"url": "https://files.example.com/denied?n=\#($0)&token=\#(Self.secret)", "messageId": "m\#($0)"}"#
    }
    try folder.write("list.jsonl", lines.joined(separator: "\n"))
    #expect(try sluice("ingest", "--manifest", "list.jsonl").status == 75)
  }

  private struct Verified: Decodable {
    var ok: Bool
    var sealedRows: [String: Int]
  }

  private func verified() throws -> Verified {
    let line = try #require(try sluice("verify", "--format", "json").out.split(separator: "\n").last)
    return try JSONDecoder().decode(Verified.self, from: Data(line.utf8))
  }

  private func bytes() -> Data {
    ["sluice.db", "sluice.db-wal"].reduce(into: Data()) { all, name in
      all += (try? Data(contentsOf: URL(fileURLWithPath: folder.path + "/home/\(name)"))) ?? Data()
    }
  }

  @Test func allIsSealedAnewThoughItIsKilledOnTheWay() throws {
    try fill(1600)
    let id = try #require(
      try sluice("list", "--format", "json").records(Printed.Attachment.self).first
    ).id
    #expect(try sluice("delete", id).status == 0)
    let before = try verified()
    let oldKey = try #require(before.sealedRows.keys.first)
    #expect(
      before.sealedRows == [oldKey: 1600] && before.ok, "links that are left, and the key of the indexes")
    // The head of each sealed value: the version and the id of its key.
    let head = Data([1] + (0..<4).compactMap { UInt8(oldKey.dropFirst($0 * 2).prefix(2), radix: 16) })
    try write(key: "second", old: "first")
    var kills = 0
    var milliseconds: UInt32 = 2
    while kills < 200 {
      let process = try SluiceCommand.start(
        ["rekey", "--home", "home"], in: folder, out: folder.path + "/out", err: folder.path + "/err",
        environment: environment)
      usleep(milliseconds * 1000)
      milliseconds += 2
      if !process.isRunning { break }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      kills += 1
      if process.terminationReason == .exit { break }
    }
    #expect(kills > 1)
    let last = try sluice("rekey")
    #expect(last.status == 0, "\(last.err)")
    #expect(try sluice("rekey").out == "nothing is sealed with an older key\n")
    let after = try verified()
    #expect(after.ok && Array(after.sealedRows.values) == [1600] && after.sealedRows[oldKey] == nil)
    #expect(bytes().range(of: head) == nil, "nothing of the old values is left")
    #expect(bytes().range(of: Data(Self.secret.utf8)) == nil)
    // The old key is of no more use, and all is known again.
    try write(key: "second", token: "good")
    let again = try sluice("ingest", "--manifest", "list.jsonl")
    #expect(again.status == 75)
    #expect(
      try sluice("list").out.split(separator: "\n").count == 1599, "neither twice, nor what was deleted")
    #expect(try sluice("resume", "downloads").status == 0)
    #expect(try sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try sluice("list", "--status", "completed").out.split(separator: "\n").count == 1599)
  }

  @Test func aKeyThatIsMissingIsNamedAndNothingIsChanged() throws {
    try fill(3)
    let before = try verified().sealedRows
    try write(key: "second", old: "third")
    let outcome = try sluice("rekey")
    #expect(outcome.status == 78)
    #expect(outcome.err.contains("sealed with the key \(try #require(before.keys.first))"), "\(outcome.err)")
    #expect(outcome.err.contains("under 'old' of 'secrets'"))
    #expect(try verified().sealedRows == before)
  }

  @Test func rowsWithAnOldKeyAreCounted() throws {
    try fill(3)
    try write(key: "second", old: "first")
    #expect(try sluice("fetch", "https://files.example.com/denied?n=4").status == 75)
    let text = try sluice("verify").out
    #expect(text.contains("1 row with the key") && text.contains("4 rows with the key"), "\(text)")
    #expect(text.contains("`sluice rekey` seals all with the newest"))
    #expect(try sluice("rekey").out.hasPrefix("4 rows sealed anew"))
    #expect(try !sluice("verify").out.contains("rekey"))
  }

  /// The way out that the page tells.
  @Test func withoutALostKeyLinksAreKnownAgainAfterAll() throws {
    func fetch(_ path: String, expecting status: Int32 = 0) throws -> String {
      let outcome = try sluice("fetch", "https://files.example.com/\(path)")
      #expect(outcome.status == status, "\(outcome.err)")
      return outcome.err
    }
    func rows() throws -> Int { try verified().sealedRows.values.reduce(0, +) }
    try write(key: "first", token: "good")
    _ = try fetch("bytes/10")
    #expect(try sluice("fetch", "--timeout", "1s", "https://files.example.com/still").status == 75)
    try write(key: "second", token: "good")
    #expect(try fetch("bytes/11", expecting: 78).contains("`sluice reset downloads`"))
    #expect(try sluice("reset", "downloads").status == 0)
    // What was given up has failed.
    #expect(try fetch("bytes/11", expecting: 1).contains("`sluice rekey --give-up-lost`"))
    let unasked = try sluice("rekey")
    #expect(unasked.status == 78 && unasked.err.contains("`sluice rekey --give-up-lost`"), "\(unasked.err)")
    let done = try sluice("rekey", "--give-up-lost")
    #expect(done.status == 0 && done.out.contains("rows left as they are"), "\(done.out) \(done.err)")
    #expect(try !fetch("bytes/12").contains("key"))
    // With the next key, what was fetched since is known, and what was fetched before is not.
    try write(key: "third", old: "second", token: "good")
    #expect(try sluice("rekey", "--give-up-lost").status == 0)
    try write(key: "third", token: "good")
    let before = try rows()
    for path in ["bytes/11", "bytes/12"] { #expect(try !fetch(path).contains("key")) }
    #expect(try rows() == before)
    _ = try fetch("bytes/10")
    #expect(try rows() == before + 1)
    // A link that nothing opens any more fails by itself, and holds up no other.
    #expect(try sluice("retry", "--status", "cancelled").out.contains("1 attachment queued again"))
    #expect(try !fetch("bytes/13", expecting: 1).contains("key"))
    let failed = try sluice("list", "--status", "failed").out
    #expect(failed.contains("unreadable") && failed.contains("`sluice delete`"), "\(failed)")
    #expect(try sluice("list", "--status", "queued").out.isEmpty)
  }

  @Test func linksThatAreKnownDoNotCountTowardsALimit() throws {
    try write(key: "first", token: "good")
    let lines = (1...5).map { #"{"url": "https://files.example.com/bytes/\#($0)", "messageId": "m\#($0)"}"# }
    try folder.write("list.jsonl", lines.joined(separator: "\n"))
    for count in [2, 4, 5] {
      #expect(try sluice("ingest", "--limit", "2", "--manifest", "list.jsonl").status == 0)
      #expect(try sluice("list", "--status", "completed").out.split(separator: "\n").count == count)
    }
  }

  @Test func nothingToDoIsSaid() throws {
    _ = try sluice("ingest", "--manifest", "/dev/null")
    #expect(try sluice("rekey").out == "nothing is sealed with an older key\n")
  }

  @Test func aCoordinatorIsToEndFirst() throws {
    try fill(2)
    let resident = try Resident(folder, environment: environment)
    let outcome = try sluice("rekey")
    #expect(outcome.status == 75)
    #expect(outcome.err.contains("is in use; stop its coordinator first"), "\(outcome.err)")
    _ = resident.stop()
  }
}
