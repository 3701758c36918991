import FrontWire
import Pipeline
import Testing

@testable import FrontDoor

/// Places as clients get them.
struct DressingTests {
  @Test(
    arguments: [
      (nil, "/v1/uploads/1", "/v1/uploads/1"),
      ("https://files.example.com", "/v1/uploads/1", "https://files.example.com/v1/uploads/1"),
      ("https://example.com/files", "/v1/attachments/1", "https://example.com/files/v1/attachments/1"),
      ("https://files.example.com", "https://elsewhere.example/1", "https://elsewhere.example/1"),
    ] as [(String?, String, String)])
  func placesBeginWithThePublicURL(publicURL: String?, given: String, expected: String) {
    var rules = ServeRules()
    rules.publicURL = publicURL
    let request = FrontRequest(serial: 1, method: "POST", segments: ["v1", "attachments"])
    for name in ["Location", "Content-Location"] {
      let reply = Dressing(rules).dressed(FrontReply(201, [.init(name, given)]), for: request)
      #expect(reply.field(name) == expected)
    }
    let other = Dressing(rules).dressed(FrontReply(200, [.init("ETag", "/x")]), for: request)
    #expect(other.field("ETag") == "/x")
  }

  @Test func onlyAnswersOfTusNameItsVersion() {
    var rules = ServeRules()
    rules.uploadDraft = true
    func version(_ fields: [FrontRequest.Pair]) -> String? {
      let request = FrontRequest(serial: 1, method: "HEAD", segments: ["v1", "uploads", "x"], fields: fields)
      return Dressing(rules).dressed(FrontReply(204), for: request).field("Tus-Resumable")
    }
    #expect(version([]) == "1.0.0")
    #expect(version([.init("upload-draft-interop-version", "8")]) == nil)
  }
}
