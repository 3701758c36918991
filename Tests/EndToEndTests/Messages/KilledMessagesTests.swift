import Foundation
import Glibc
import Synchronization
import Testing

/// Several people write while the server is killed again and again: what was answered is there, once and in order, and who follows
/// the changes knows all.
struct KilledMessagesTests {
  private static let isSoak = ProcessInfo.processInfo.environment["SLUICE_SOAK"] != nil
  private static let (kills, messages) = isSoak ? (500, 2000) : (6, 60)
  private static let people = ["ann", "ben", "cid"]

  /// What a client was answered: the number of each message, by its name for it.
  private final class Clients: Sendable {
    let answered = Mutex<[String: [String: Int]]>([:])
    let port = Mutex<UInt16>(0)
  }

  @Test func nothingIsLostOrDoubledAndAFollowerKnowsAll() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: { messages: true, per-address: 1000 }\n")
    let options = ["--config", "pipeline.yaml"]
    var served = try ServedHome(folder, options: options)
    var tokens: [String: String] = [:]
    for name in Self.people { tokens[name] = try served.token(name) }
    let begun = try served.ask(
      "POST", "/v1/conversations", token: tokens["ann"], ["Content-Type: application/json"],
      body: Data(#"{"members":["ben","cid"]}"#.utf8))
    let room = try #require(try JSON(begun.text)["id"].text)
    let clients = Clients()
    clients.port.withLock { $0 = served.port }
    var threads: [Thread] = []
    for (name, token) in tokens { threads.append(Thread { Self.write(clients, name, token, room) }) }
    for thread in threads { thread.start() }
    var follower = Follower(token: tokens["cid"] ?? "")
    for _ in 0..<Self.kills {
      usleep(UInt32.random(in: 50_000...250_000))
      _ = served.stop(SIGKILL)
      served = try ServedHome(folder, options: options)
      clients.port.withLock { $0 = served.port }
      try follower.follow(served)
    }
    let all = Self.people.count * Self.messages
    try Resident.wait("all is answered", seconds: Double(all)) {
      try follower.follow(served)
      return clients.answered.withLock { $0.values.reduce(0) { $0 + $1.count } } == all
    }
    try follower.follow(served)
    #expect(served.stop() == 0)
    let written = clients.answered.withLock { $0 }
    #expect(follower.messages.count == all && follower.messages.keys.max() == all)
    for (name, own) in written {
      for (client, number) in own {
        let message = follower.messages[number]
        #expect(message?["clientId"].text == client && message?["senderId"].text == name)
      }
      // Each waited for its answer before it wrote the next.
      let order = (1...Self.messages).compactMap { own["\(name)-\($0)"] }
      #expect(order == order.sorted() && order.count == Self.messages)
    }
    #expect(try Witness(folder: folder, home: "home").faults([]).map(\.rule) == [])
  }

  /// Sends one message after the other, each until it is answered, and some again.
  private static func write(_ clients: Clients, _ name: String, _ token: String, _ room: String) {
    for number in 1...messages {
      let client = "\(name)-\(number)"
      let times = number % 7 == 0 ? 3 : 1
      for _ in 0..<times {
        while true {
          let port = clients.port.withLock { $0 }
          guard let answer = put(port, token, "/v1/conversations/\(room)/messages/\(client)", number),
            let json = try? JSON(answer), case .number(let value) = json["number"]
          else {
            usleep(20_000)
            continue
          }
          clients.answered.withLock { answered in
            let before = answered[name, default: [:]].updateValue(Int(value), forKey: client)
            if let before, before != Int(value) { answered[name, default: [:]]["doubled \(client)"] = before }
          }
          break
        }
      }
    }
  }

  /// - Returns: the body of an answer that says that it is written.
  private static func put(_ port: UInt16, _ token: String, _ path: String, _ number: Int) -> String? {
    let answer = try? ServedHome.ask(
      port, "PUT", path, token: token, ["Content-Type: application/json"],
      body: Data(#"{"text":"message \#(number)"}"#.utf8))
    return answer.flatMap { [200, 201].contains($0.status) ? $0.text : nil }
  }

  /// A client that is told what has changed since it asked last.
  private struct Follower {
    let token: String
    private var position: String?
    /// By number.
    private(set) var messages: [Int: JSON] = [:]

    init(token: String) { self.token = token }

    mutating func follow(_ served: ServedHome) throws {
      while true {
        let query = position.map { "?since=\($0)&limit=20" } ?? ""
        let answer = try served.ask("GET", "/v1/sync\(query)", token: token)
        try #require(answer.status == 200, "\(answer.text)")
        let json = try JSON(answer.text)
        let isFirst = position == nil
        position = json["position"].text
        for conversation in json["conversations"].elements {
          for message in conversation["messages"].elements { take(message) }
          if isFirst, let id = conversation["id"].text { try readAll(id, served) }
        }
        if json["more"] != .boolean(true) { return }
      }
    }

    /// What was there before it began.
    private mutating func readAll(_ id: String, _ served: ServedHome) throws {
      let page = try served.ask("GET", "/v1/conversations/\(id)/messages?limit=200", token: token)
      for message in try JSON(page.text)["messages"].elements { take(message) }
    }

    private mutating func take(_ message: JSON) {
      if case .number(let number) = message["number"] { messages[Int(number)] = message }
    }
  }
}
