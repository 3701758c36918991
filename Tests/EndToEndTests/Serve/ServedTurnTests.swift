import Foundation
import Testing

/// Users share the connections of the lane: the links of one hold up no other.
@Suite(.serialized)
struct ServedTurnTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Created: Decodable { var id: String }

  @Test func oneUsersSlowLinksHoldUpNoOther() throws {
    let (slow, fast) = (try ContentServer(rate: 20_000), try ContentServer())
    try folder.write(
      "serve.yaml",
      Pipelines.open
        + "\nlanes: { downloads: { use: http, connections: 2, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ann, ben, admin) = (
      try served.token("ann"), try served.token("ben"), try served.token("root", "--role", "admin")
    )
    func ask(_ token: String, _ link: String, _ fields: String...) throws -> (status: Int, text: String) {
      let answer = try served.ask(
        "POST", "/v1/fetch", token: token, ["Content-Type: application/json"] + fields,
        body: Data("{\"url\":\"\(link)\"}".utf8))
      return (answer.status, answer.text)
    }
    var ids: [String] = []
    for number in 1...3 {
      let asked = try ask(ann, "\(slow.url)/content/5000000/\(number)", "Prefer: respond-async")
      #expect(asked.status == 202, "\(asked)")
      ids.append(try JSONDecoder().decode(Created.self, from: Data(asked.text.utf8)).id)
    }
    try Resident.wait("all connections are taken") { slow.active == 2 }
    let began = Date()
    let taken = try ask(ben, "\(fast.url)/content/1000/a")
    #expect(taken.status == 200 && taken.text.utf8.count > 0, "\(taken)")
    #expect(Date().timeIntervalSince(began) < 30 && slow.active == 2)
    // What she wants at once goes ahead of the queue, and stops nothing.
    let now = try served.ask("POST", "/v1/attachments/\(ids[2])/now", token: ann)
    #expect(now.status == 200 && now.text.contains(#""changed":true"#), "\(now.text)")
    let transfers = try served.ask("GET", "/v1/transfers", token: admin).text
    #expect(transfers.contains(#""priority":99"#), "\(transfers)")
    #expect(!transfers.contains(#""isHeld":true"#) && slow.active == 2)
    let urgent = try served.ask("POST", "/v1/attachments/\(ids[2])/now", token: admin)
    #expect(urgent.status == 200)
    try Resident.wait("an admin's is asked for beside them") {
      slow.requests.contains { $0.path.hasSuffix("/3") }
    }
  }

  /// They fill the window of what is claimed at once, and the queue behind it.
  @Test func aUsersManyLinksAtManyHostsHoldUpNoOther() throws {
    let slow = try (1...60).map { _ in try ContentServer(rate: 2000) }
    let fast = try ContentServer()
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nlanes: { downloads: { use: http, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ann, ben) = (try served.token("ann"), try served.token("ben"))
    func ask(_ token: String, _ link: String, _ fields: String...) throws -> Int {
      try served.ask(
        "POST", "/v1/fetch", token: token, ["Content-Type: application/json"] + fields,
        body: Data("{\"url\":\"\(link)\"}".utf8)
      ).status
    }
    for number in 0..<300 {
      let link = "\(slow[number % slow.count].url)/content/5000000/\(number)"
      #expect(try ask(ann, link, "Prefer: respond-async") == 202)
    }
    func active() -> Int { slow.reduce(0) { $0 + $1.active } }
    try Resident.wait("all connections are taken") { active() == 8 }
    for number in 1...3 {
      let began = Date()
      #expect(try ask(ben, "\(fast.url)/content/1000/\(number)") == 200)
      #expect(Date().timeIntervalSince(began) < 100 && active() == 8)
    }
    #expect(slow.allSatisfy { $0.requests.count < 2 }, "each host has its turn")
  }
}
