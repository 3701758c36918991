import Foundation
import Glibc
import Testing

/// What clients of a clamd door are told, and what is on record of it.
@Suite(.serialized)
struct ClamdDoorRecordTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func recorded() throws -> [String] {
    let list = try SluiceCommand.run(
      ["list", "--home", "home", "--conversation", "clamd", "--format", "json"], in: folder)
    #expect(list.status == 0, "\(list.err)")
    return list.out.split(separator: "\n").map(String.init)
  }

  private static let sleeping = """
    version: 1
    stages:
      - use: misbehave
        timeout: 1s
        on-timeout: reject
    """

  /// The program is asked to end while contents are judged: what their clients are told is on record.
  @Test func whatIsToldWhileItEndsIsOnRecord() throws {
    let door = try ClamdDoor(
      folder, judging: Self.sleeping, "max-size: 1MB, unknown: error, record: all",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    var told = 0
    let clients = try (0..<6).map { number in
      let client = try ClamdClient(door.path)
      client.send(
        Array("zINSTREAM\0".utf8)
          + ClamdClient.chunks(Array("misbehave sleep \(number)\n".utf8)).dropLast(number % 2 == 0 ? 0 : 4))
      return client
    }
    // Those that are whole are judged; the others end theirs while the program ends.
    try Resident.wait("stages are at work") { !door.workers.isEmpty }
    usleep(300_000)
    kill(door.served.coordinator, SIGTERM)
    for (number, client) in clients.enumerated() where number % 2 == 1 { client.send([0, 0, 0, 0]) }
    for client in clients {
      let answer = client.answer() ?? ""
      if answer.hasSuffix("FOUND") { told += 1 }
      #expect(answer.hasSuffix("FOUND") || answer.hasSuffix("ERROR") || answer.isEmpty, "\(answer)")
    }
    #expect(door.served.stop(0) == 0)
    #expect(told >= 3)
    let found = try recorded().filter { $0.contains("\"rejected\"") }
    #expect(found.count >= told, "\(told) were told, \(found.count) are on record")
  }

  @Test func theRecordOfACheckIsNotTriedAgain() throws {
    let door = try ClamdDoor(folder, "max-size: 1MB, unknown: error, record: found")
    #expect(try door.verdict(ClamdDoorTests.image) == "stream: Sluice.mime.type-not-allowed FOUND")
    struct Row: Decodable { var id: String }
    let row = try #require(try recorded().first)
    let id = try JSONDecoder().decode(Row.self, from: Data(row.utf8)).id
    let text = "is the record of a check, and its content was not kept; have the content checked anew"
    let beside = try SluiceCommand.run(["retry", id, "--home", "home"], in: folder)
    #expect(beside.status == 1 && beside.err.contains(text), "\(beside.status) \(beside.err)")
    let root = try door.served.token("root", "--role", "admin")
    let answer = try door.served.ask("POST", "/v1/attachments/\(id)/retry", token: root, body: Data())
    #expect(answer.status == 409 && answer.text.contains(text), "\(answer.text)")
    #expect(door.served.stop() == 0)
    let alone = try SluiceCommand.run(["retry", id, "--home", "home"], in: folder)
    #expect(alone.status == 1 && alone.err.contains(text), "\(alone.status) \(alone.err)")
    #expect(try recorded().first?.contains("\"rejected\"") == true)
  }
  /// The coordinator's answer has a sentence for each, which is more than a socket takes at once.
  @Test func thousandsOfRecordsAreRefusedOneByOne() throws {
    let door = try ClamdDoor(folder, "max-size: 1MB, unknown: error, record: found")
    let client = try ClamdClient(door.path)
    client.send("zIDSESSION\0")
    for batch in 0..<250 {
      for number in 0..<10 {
        client.send(
          Array("zINSTREAM\0".utf8)
            + ClamdClient.chunks(ClamdDoorTests.image + Array("\(batch)-\(number)".utf8)))
      }
      for _ in 0..<10 { #expect(client.answer()?.hasSuffix("FOUND") == true) }
    }
    let began = Date()
    let outcome = try SluiceCommand.run(["retry", "--home", "home", "--status", "rejected"], in: folder)
    #expect(outcome.status == 1, "\(outcome.err.suffix(300))")
    // Where nothing else is sent, its end would come with the next message, after half a minute.
    #expect(Date().timeIntervalSince(began) < 20)
    #expect(!outcome.err.contains("run the same command again"), "\(outcome.err.suffix(300))")
    #expect(door.served.stop() == 0)
  }
}
