import FrontWire
import Platform
import Testing
import Wire

/// The frames between coordinator and HTTP server, whole and broken.
struct FrameTests {
  private static let request = FrontRequest(
    serial: 7, method: "GET", segments: ["v1", "é"], query: [.init("limit", "5")],
    fields: [.init("host", "x"), .init("authorization", "Bearer y")], body: .length(12), peer: "127.0.0.1")
  private static var form: Stored {
    var stored = Stored(bytes: 3, isWhole: true)
    stored.form.fields = [.init("conversationId", "c1")]
    (stored.form.fileName, stored.form.contentType) = ("a.pdf", "application/pdf")
    return stored
  }

  private static let toFront: [ToFront] = [
    .serve(
      FrontSetup(
        connections: 5, perAddress: 2, proxies: ["10.0.0.0/8"], longestFile: 1 << 40, memory: 1 << 30,
        requiresSandbox: true)),
    .reply(serial: 1, FrontReply(204)),
    .reply(serial: 2, FrontReply(200, [.init("A", "b")], .bytes([0, 1, 2]))),
    .reply(serial: 3, FrontReply(206, [], .file(5..<9))),
    .reply(serial: 3, FrontReply(200, [], .file(0..<9, isEncoded: true))),
    .reply(serial: 4, FrontReply(200, [], .stream)),
    .replies([
      NumberedReply(serial: 1, reply: FrontReply(200, [.init("A", "b")], .bytes([0, 1]))),
      NumberedReply(serial: 2, reply: FrontReply(404)),
    ]), .replies([]), .inform(serial: 5, FrontReply(104, [.init("Location", "/x")])),
    .part(serial: 5, [1, 0, 2]), .parts(serials: [5, 6], [1]),
    .finish(serial: 6), .takeBody(serial: 7, limit: 99),
    .store(serial: 8, StoreOrder(offset: 5, limit: 9, digest: .sha1)),
    .store(serial: 9, StoreOrder(offset: 0, limit: 0, isForm: true, isSynced: false)), .abort(serial: 10),
    .drain,
  ]
  private static let fromFront: [FromFront] = [
    .serving(sandbox: 3), .request(request), .requests([request, request]), .requests([]),
    .request(FrontRequest(serial: 8, method: "POST", segments: [], body: .unknown)),
    .body(serial: 9, [0, 255]), .cut(serial: 10, isTooLong: true),
    .stored(serial: 12, Stored(bytes: 3, isWhole: true, error: 28, digest: [1, 2])),
    .stored(serial: 13, Stored(bytes: 0, isWhole: true, isMalformed: true)), .stored(serial: 14, form),
    .ended([
      11: FrontEnd(status: 200, received: 1, sent: 2, microseconds: 3, isWhole: true),
      12: FrontEnd(status: 0, received: 0, sent: 0, microseconds: 4, isWhole: false),
    ]), .ended([:]),
  ]

  @Test func whatIsSaidIsHeard() throws {
    for message in Self.toFront {
      #expect(try message.frame.withUnsafeBytes { bytes in try ToFront(bytes) } == message)
    }
    for message in Self.fromFront {
      #expect(try message.frame.withUnsafeBytes { bytes in try FromFront(bytes) } == message)
    }
  }

  /// What goes with others fits into a frame with them.
  @Test func theSizeOfARequestIsWhatItTakes() {
    for request in [Self.request, FrontRequest(serial: 1, method: "GET", segments: [])] {
      let size =
        FromFront.requests([request, request]).frame.count - FromFront.requests([request]).frame.count
      #expect(size <= request.size)
    }
    let many = Array(repeating: Self.request, count: FromFront.mostRequests + 1)
    #expect(throws: FrameError.self) {
      try FromFront.requests(many).frame.withUnsafeBytes { try FromFront($0) }
    }
  }

  @Test func aBrokenFrameIsAnErrorAndNoMore() {
    var random = SplitMix(state: 1)
    for frame in Self.toFront.map(\.frame) + Self.fromFront.map(\.frame) {
      for count in 0..<frame.count {
        let isRead = frame[..<count].withUnsafeBytes { bytes in
          (try? ToFront(bytes)) != nil || (try? FromFront(bytes)) != nil
        }
        #expect(!isRead, "\(count) bytes of \(frame)")
      }
      for _ in 0..<2000 {
        var broken = frame
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          broken[Int.random(in: 0..<broken.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        broken.withUnsafeBytes { bytes in
          _ = try? ToFront(bytes)
          _ = try? FromFront(bytes)
        }
      }
    }
  }
}
