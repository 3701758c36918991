import Outbound
import StageKit
import Testing

@testable import HTTPSource

/// What heads of answers are made of, without a network.
struct DecisionTests {
  private static func question(_ url: String = "https://files.example/x") throws -> Question {
    Question(link: try WebURL(url), limit: 1000)
  }

  private static func follow(
    _ from: String, _ target: String, status: Int = 302, method: Question.Method = .get, isPublic: Bool = true
  ) throws -> String {
    var question = try question(from)
    question.method = method
    do throws(Outcome) {
      let next = try Redirect.follow(
        question, status: status, to: target, admission: Admission(), isPublic: isPublic)
      return "\(next.method.rawValue) \(next.link.text)"
    } catch {
      return error.code
    }
  }

  @Test func aRedirectNeverLeavesHTTPS() throws {
    #expect(try Self.follow("https://a.example/x/y", "z?q") == "GET https://a.example/x/z?q")
    #expect(try Self.follow("https://a.example/", "//b.example/") == "GET https://b.example/")
    #expect(try Self.follow("https://a.example/", "http://a.example/") == "redirect-refused")
    #expect(try Self.follow("https://a.example/", "HTTP://a.example/") == "redirect-refused")
    #expect(try Self.follow("http://a.example/", "https://a.example/") == "GET https://a.example/")
  }

  @Test func aPublicServerThatRedirectsInwardsIsTakenForAPortal() throws {
    #expect(try Self.follow("http://a.example/", "http://192.168.1.1/login") == "captive-portal")
    #expect(
      try Self.follow("http://a.example/", "http://192.168.1.1/", isPublic: false) == "address-not-allowed")
  }

  @Test(arguments: [
    (301, "https://a.example/y", "redirect-refused"), (302, "https://a.example/y", "redirect-refused"),
    (303, "https://b.example/y", "GET https://b.example/y"),
    (307, "https://a.example/y", "POST https://a.example/y"),
    (308, "https://a.example:443/y", "POST https://a.example:443/y"),
    (307, "https://b.example/y", "redirect-refused"),
    (308, "https://b.example/y", "redirect-refused"), (308, "https://a.example:444/y", "redirect-refused"),
  ])
  func aPostIsRepeatedAtTheSameServerOnly(status: Int, target: String, expected: String) throws {
    #expect(try Self.follow("https://a.example/x", target, status: status, method: .post) == expected)
  }

  @Test(arguments: [
    ("attachment; filename=a.pdf", "a.pdf"), ("inline; filename=\"a b.pdf\"", "a b.pdf"),
    ("attachment; filename=\"a\\\"b\"", "a\"b"),
    ("attachment; filename=\"../../etc/passwd\"", ".._.._etc_passwd"),
    ("attachment; filename=\"a\\\\b\"", "a_b"),
    ("attachment; filename*=UTF-8''%e2%82%ac.txt", "\u{20AC}.txt"),
    ("attachment; filename=\"x\"; filename*=utf-8'en'y", "y"),
    ("attachment; filename*=UTF-8''%zz; filename=x", "x"),
    ("attachment; filename*=iso-8859-1''%e9", "\u{E9}"),
    ("attachment; filename=\"\u{202E}fdp.exe\"", "fdp.exe"),
    ("attachment; FILENAME = \"x\"", "x"), ("attachment; filename=\"a\tb\"", "ab"), ("attachment", nil),
    ("attachment; filename=\"..\"", nil), ("attachment; filename=\"\"", nil),
    ("attachment; filename*=UTF-8''%00", nil),
    ("filename=x", nil), ("attachment; filename=\"unterminated", "unterminated"),
  ])
  func aFileNameIsCleaned(value: String, expected: String?) {
    #expect(FileName.read(Array(value.utf8)) == expected)
  }

  @Test func aFileNameHasAtMost255Bytes() {
    let long = FileName.read(Array("a; filename=\"\(String(repeating: "\u{20AC}", count: 200))\"".utf8))
    #expect(long == String(repeating: "\u{20AC}", count: 85))
    #expect(FileName.read(Array("a; filename=\"".utf8) + [0xE9] + Array("\"".utf8)) == "\u{E9}")
  }

  @Test(arguments: [
    ("120", 120_000), ("0", 0), ("", nil), ("soon", nil), ("1e3", nil), ("86401", 86_400_000),
    ("99999999999999999999", 86_400_000), ("Thu, 01 Jan 1970 00:02:00 GMT", 20_000),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 86_400_000), ("Thu Jan  1 00:00:10 1970", 0),
  ])
  func aWaitIsBounded(value: String, expected: Int64?) {
    #expect(RetryAfter.milliseconds(value, now: 100) == expected)
  }

  @Test(arguments: ["\"a\"", "\"\"", "\"a-b.c/d+e=\""])
  func aStrongTagIsOne(etag: String) {
    #expect(Validators.isStrong(etag))
  }

  @Test(arguments: [
    "W/\"a\"", "a", "\"a", "\"", "", "\"a\"b\"", "\"a b\"", "\"a\u{7F}\"",
    "\"\(String(repeating: "a", count: 300))\"",
  ])
  func anotherTagIsNone(etag: String) {
    #expect(!Validators.isStrong(etag))
  }

  @Test func whatIsToldOfTheWholeMakesARangePossible() {
    let tag = Validators(etag: "\"a\"")
    #expect(ResumePlan.make(held: 0, tag, expectedSize: nil, knowsHash: true) == nil)
    #expect(
      ResumePlan.make(held: 10, tag, expectedSize: nil, knowsHash: false)?.headers == [
        "Range: bytes=0-", "If-Range: \"a\"",
      ])
    #expect(
      ResumePlan.make(held: 100_000, tag, expectedSize: nil, knowsHash: false)?.headers == [
        "Range: bytes=91808-", "If-Range: \"a\"",
      ])
    #expect(ResumePlan.make(held: 10, tag, expectedSize: 9, knowsHash: false) == nil)
    #expect(ResumePlan.make(held: 10, Validators(), expectedSize: nil, knowsHash: false) == nil)
    #expect(
      ResumePlan.make(held: 100_000, Validators(), expectedSize: nil, knowsHash: true)?.headers == [
        "Range: bytes=34464-"
      ])
    #expect(
      ResumePlan.make(held: 10, Validators(modified: "a\r\nb"), expectedSize: nil, knowsHash: false) == nil)
  }

  @Test func theRateIsKept() {
    var rate = Rate(1000, now: 0)
    var taken = 0
    for millisecond in 1...10_000 {
      rate?.refill(now: UInt64(millisecond) * 1_000_000)
      while rate?.isEmpty == false {
        rate?.take(300)
        taken += 300
      }
    }
    #expect((9_900...10_400).contains(taken))
    #expect(Rate(0, now: 0) == nil)
  }
}
