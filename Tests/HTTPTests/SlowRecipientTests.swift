import Foundation
import Synchronization
import Testing

/// Events to an endpoint that takes its time for one recipient.
struct SlowRecipientTests {
  private struct Event: Decodable {
    struct Data: Decodable { var recipientId, attachmentId: String }
    var data: Data
  }

  @Test func oneThatIsSlowHoldsUpNoOther() throws {
    // What was answered, in that order.
    let answered = Mutex<[(recipient: String, attachment: String, at: Date)]>([])
    let server = try Server { request, exchange in
      guard let event = try? JSONDecoder().decode(Event.self, from: Data(request.body)) else {
        return exchange.answer(400)
      }
      if event.data.recipientId == "slow" { usleep(1_000_000) }
      exchange.answer(204)
      answered.withLock { $0.append((event.data.recipientId, event.data.attachmentId, Date())) }
    }
    let home = try Home(endpoint: server.url("/hook"))
    try home.run()
    // The endpoint is known to answer.
    try home.write("first.txt", "first")
    #expect(try home.sluice("enqueue", "first.txt", "--sender", "ann", "--participants", "ann").status == 0)
    try home.wait("the first is told") { answered.withLock(\.count) == 1 }
    var paths: [String] = []
    for number in 0..<4 {
      try home.write("\(number).txt", "number \(number)")
      paths.append("\(number).txt")
    }
    let words = ["enqueue"] + paths + ["--sender", "ann", "--participants", "ann,ben,slow"]
    #expect(try home.sluice(words).status == 0)
    try home.wait("all are told") { answered.withLock(\.count) == 13 }
    let all = answered.withLock { $0.dropFirst() }
    let slow = all.filter { $0.recipient == "slow" }
    let first = try #require(slow.first)
    #expect(
      all.filter { $0.recipient != "slow" && $0.at < first.at }.count == 8,
      "the others waited for none of them")
    #expect(Set(slow.map(\.attachment)).count == 4)
    // One after the other.
    for (one, next) in zip(slow, slow.dropFirst()) { #expect(next.at.timeIntervalSince(one.at) > 0.9) }
    try home.wait("nothing is left to tell") {
      try home.records("status").contains {
        ($0["queue"] as? [String: Int])?["due"] == 0 && ($0["queue"] as? [String: Int])?["leased"] == 0
      }
    }
    #expect(try home.records("deliveries").isEmpty)
    #expect(server.requests.count == 13, "each was asked once")
  }
}
