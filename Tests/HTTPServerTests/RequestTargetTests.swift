import HTTPServer
import Testing

struct RequestTargetTests {
  @Test func pathAndQueryAreDecodedOnce() throws {
    let target = try RequestTarget("/v1/a%20b/%2525/%C3%A9/?q=x+y%2B&flag&n=%26=1&&")
    #expect(target.segments == ["v1", "a b", "%25", "é"])
    #expect(
      target.query.map(\.name) == ["q", "flag", "n"] && target.query.map(\.value) == ["x y+", "", "&=1"])
    #expect(try RequestTarget("http://a:80/x?y").segments == ["x"])
    #expect(try RequestTarget("https://a").segments.isEmpty && RequestTarget("/").segments.isEmpty)
    #expect(try RequestTarget(String(repeating: "/a", count: 32)).segments.count == 32)
    #expect(try RequestTarget("/?" + String(repeating: "a&", count: 256)).query.count == 256)
    #expect(try RequestTarget("*").segments.isEmpty)
  }

  @Test(arguments: [
    "/..", "/a/../b", "/./a", "/%2e%2e/a", "/a/%2E", "//a", "/a//b", "/a%2fb", "/a%00", "/%", "/%4", "/%zz",
    "/%ff",
    "/a?b=%", "/a?%C3=1", "/a?b=%00", String(repeating: "/a", count: 33),
    "/?" + String(repeating: "a&", count: 257),
  ])
  func whatMayBeUnderstoodInTwoWaysIsRefused(target: String) {
    #expect(throws: RequestFault.self) { try RequestTarget(target) }
  }
}
