import Foundation
import Glibc
import Synchronization
import Testing

/// Requests for one upload at the same moment.
@Suite(.serialized)
struct UploadRaceTests {
  private struct List: Decodable { var attachments: [Row] }
  private struct Row: Decodable { var id: String }

  private let folder: TemporaryFolder
  private static let tus = "Tus-Resumable: 1.0.0"
  private static let octets = "Content-Type: application/offset+octet-stream"

  init() throws { folder = try TemporaryFolder() }

  /// Asks for several things at once; of one whose connection was ended the status is 0.
  private func atOnce(_ served: ServedHome, _ asks: [@Sendable () throws -> ServedHome.Answer]) -> [ServedHome
    .Answer]
  {
    let answers = Mutex<[Int: ServedHome.Answer]>([:])
    DispatchQueue.concurrentPerform(iterations: asks.count) { index in
      let answer = (try? asks[index]()) ?? ServedHome.Answer()
      answers.withLock { $0[index] = answer }
    }
    return answers.withLock { answers in asks.indices.map { answers[$0] ?? ServedHome.Answer() } }
  }

  /// The last bytes come while it is given up: one of the two is first. Nothing is left of those that were given up.
  @Test func bytesBesideTheEndOfAnUploadAreTakenOrFindNothing() throws {
    nonisolated(unsafe) let served = try ServedHome(folder)
    let ann = try served.token("ann")
    let client = TusClient(served: served, token: ann)
    let content = Data("ten bytes.".utf8)
    var attachments = 0
    for round in 0..<200 {
      let place = try client.begin(content, name: "a\(round).txt")
      let patch = { @Sendable in
        try served.ask(
          "PATCH", place, token: ann, [Self.tus, Self.octets, "Upload-Offset: 0"], body: content)
      }
      let end = { @Sendable in try served.ask("DELETE", place, token: ann, [Self.tus]) }
      let look = { @Sendable in try served.ask("HEAD", place, token: ann, [Self.tus]) }
      let asks = round % 2 == 0 ? [patch, end, patch] : [end, patch, look]
      let answers = atOnce(served, asks)
      let statuses = answers.map(\.status)
      // 0: a newer request has ended it. 409: it is whole, or an attachment.
      #expect(statuses.allSatisfy { [0, 200, 204, 404, 409, 413].contains($0) }, "\(round): \(statuses)")
      attachments += answers.contains { $0.fields["attachment-id"] != nil } ? 1 : 0
      if statuses[round % 2 == 0 ? 1 : 0] == 204 {
        #expect(try client.served.ask("HEAD", place, token: ann, [Self.tus]).status == 404, "\(round)")
        let id = place.split(separator: "/").last.map(String.init) ?? ""
        #expect(!folder.files(below: "home/uploads").contains(id), "its file is gone once that is told")
      }
    }
    #expect(attachments > 0)
    let home = folder
    // Files of uploads go after their rows do, and those of attachments once they are stored.
    try Resident.wait("nothing is left", seconds: 20) { home.files(below: "home/uploads").isEmpty }
    #expect(served.stop() == 0)
  }

  /// A client that lost its answer asks again, perhaps before the first request has ended.
  @Test func partsMakeOneAttachmentHoweverOftenThatIsAskedFor() throws {
    nonisolated(unsafe) let served = try ServedHome(folder)
    let ann = try served.token("ann")
    func part(_ text: String) throws -> String {
      let answer = try served.ask(
        "POST", "/v1/uploads", token: ann,
        [Self.tus, Self.octets, "Upload-Concat: partial", "Upload-Length: \(text.utf8.count)"],
        body: Data(text.utf8))
      return try #require(answer.fields["location"], "\(answer.text)")
    }
    for round in 0..<20 {
      let places = try [part("hello \(round) "), part("world\n")]
      let final = { @Sendable in
        try served.ask(
          "POST", "/v1/uploads", token: ann,
          [
            Self.tus, "Upload-Concat: final;\(places.joined(separator: " "))",
            "Upload-Metadata: filename \(Data("\(round).txt".utf8).base64EncodedString())",
          ], body: Data())
      }
      let answers = atOnce(served, [final, final, final])
      let made = answers.filter { $0.status == 201 }
      #expect(made.count == 1, "\(answers.map(\.status))")
      #expect(answers.allSatisfy { [201, 404].contains($0.status) }, "\(answers.map(\.status))")
      #expect(Set(answers.compactMap { $0.fields["attachment-id"] }).count == 1)
    }
    let list = try served.ask("GET", "/v1/attachments?limit=100", token: ann).decoded(List.self)
    #expect(list.attachments.count == 20)
    #expect(served.stop() == 0)
  }
}
