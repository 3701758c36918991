import Foundation
import Testing

/// A trace goes from a request over the attachment that it brings to the webhook that tells of it.
@Suite(.serialized)
struct ServedTraceTests {
  private struct Record: Decodable {
    var fileName: String
    var traceparent: String?
  }

  private struct Page: Decodable { var attachments: [Record] }

  private static func trace(_ digit: Int) -> String {
    "00-\(String(repeating: "\(digit)", count: 32))-00f067aa0ba902b7-01"
  }

  @Test func theTraceOfARequestReachesTheWebhook() throws {
    let folder = try TemporaryFolder()
    let receiver = try WebhookReceiver()
    let hook =
      "{ use: webhook, options: { url: \"\(receiver.url)\", secrets: [\"\(WebhookTests.secret)\"], "
      + "allow-private: [127.0.0.1], timeout: 5s } }"
    try folder.write(
      "pipeline.yaml",
      Pipelines.telling(channels: ["hook": hook]).replacingOccurrences(
        of: "to: participants", with: "to: sender"))
    let served = try ServedHome(folder)
    let ann = try served.token("ann")
    func post(_ name: String, _ fields: [String]) throws {
      let answer = try served.ask(
        "POST", "/v1/attachments?filename=\(name)", token: ann, fields, body: Data("of \(name)\n".utf8))
      try #require(answer.status == 201, "\(answer.text)")
    }
    try post("one", ["traceparent: \(Self.trace(1))"])
    // What is not understood is passed over.
    try post("none", ["traceparent: 00-0000-00-01"])
    try post("two", ["traceparent: \(Self.trace(2))", "traceparent: \(Self.trace(3))"])
    let place = try TusClient(served: served, token: ann).begin(Data(count: 3), name: "upload")
    let patched = try served.ask(
      "PATCH", place, token: ann,
      [
        "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", "Upload-Offset: 0",
        "traceparent: \(Self.trace(4))",
      ], body: Data("abc".utf8))
    try #require(patched.status == 204, "\(patched.text)")
    try Resident.wait("all are told of") { receiver.requests.count == 4 }
    var told: [String: String?] = [:]
    for request in receiver.requests {
      let event = try JSON(String(decoding: request.body, as: UTF8.self))
      told[event["data"]["fileName"].text ?? ""] = request.headers["traceparent"]
    }
    let expected: [String: String?] = [
      "one": Self.trace(1), "none": nil, "two": nil, "upload": Self.trace(4),
    ]
    #expect(told == expected)
    let page = try served.ask("GET", "/v1/attachments", token: ann).decoded(Page.self)
    #expect(Set(page.attachments.compactMap(\.traceparent)) == [Self.trace(1), Self.trace(4)])
  }
}
