import Foundation
import Testing
import Wire

@testable import HTTPSource

/// Content that comes as Base64, alone or in JSON.
@Suite(.serialized)
struct EncodingTests {
  private static func decode(_ text: String, piece: Int) -> [UInt8]? {
    var decoder = Base64Decoder()
    var content: [UInt8] = []
    let room = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Base64Decoder.room(for: piece) + 3, alignment: 1)
    defer { room.deallocate() }
    let bytes = Array(text.utf8)
    do {
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let count = try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes {
          try decoder.decode($0, into: room)
        }
        content += room[..<count]
      }
      try decoder.finish()
    } catch {
      return nil
    }
    return content
  }

  @Test func everyLengthIsDecodedInPiecesOfAnySize() {
    for count in 0..<200 {
      let content = sample(count)
      let text = Data(content).base64EncodedString()
      for piece in [1, 2, 3, 4, 5, 64, 1000] {
        #expect(Self.decode(text, piece: piece) == content)
        let lines = Data(content).base64EncodedString(options: [
          .lineLength64Characters, .endLineWithCarriageReturn,
        ])
        #expect(Self.decode(lines + "\r\n", piece: piece) == content)
      }
    }
  }

  @Test(arguments: [
    "A", "AA", "AAA", "AA=", "=", "==", "A===", "AA=A", "AA==AA==", "AAAA=", "AA===", "AAA=A", "AB==", "AAB=",
    "A A=",
    "AA-_", "AA.=", "AAA\0", "AAÄ=", "AA==\n=", "%41AAA", "\"AAAA\"",
  ])
  func whatIsNotBase64IsRefused(text: String) {
    for piece in [1, 3, 100] { #expect(Self.decode(text, piece: piece) == nil) }
  }

  private static func find(_ pointer: String, in text: String, piece: Int) -> String? {
    guard case .json(let parts)? = ResponseForm("json:" + pointer) else { return nil }
    var json = JSONText(at: parts)
    var found: [UInt8] = []
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 1)
    defer { room.deallocate() }
    let bytes = Array(text.utf8)
    do {
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let count = try bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes {
          try json.read($0, into: room)
        }
        found += room[..<count]
      }
      try json.finish()
    } catch {
      return nil
    }
    return String(decoding: found, as: UTF8.self)
  }

  @Test(arguments: [
    ("", #""x""#, "x"), ("/data", #"{"data":"x"}"#, "x"),
    ("/data", #" { "a" : [ 1 , {"data":"no"} ] , "data" : "x" } "#, "x"),
    ("/a/b", #"{"b":"no","a":{"c":1,"b":"x"}}"#, "x"), ("/a/1", #"{"a":["no","x",{"1":"no"}]}"#, "x"),
    ("/0/k", #"[{"k":"x"},{"k":"no"}]"#, "x"), ("/a~1b/~0", #"{"a/b":{"~":"x"}}"#, "x"),
    ("/k", #"{"k":"a\/b\u002B\u003d"}"#, "a/b+="), ("/\u{E9}", #"{"\u00e9":"x"}"#, "x"),
    ("/", #"{"":"x"}"#, "x"),
    ("/k", #"{"e":{},"f":[],"g":-1.5e+3,"h":true,"i":null,"j":"\"}","k":"x"}"#, "x"),
    ("/k", #"{"k":""}"#, ""),
  ])
  func theTextIsFoundInPiecesOfAnySize(pointer: String, text: String, found: String) {
    for piece in [1, 2, 7, 100] { #expect(Self.find(pointer, in: text, piece: piece) == found) }
  }

  @Test(arguments: [
    ("/k", "{}"), ("/k", ""), ("/k", #"{"k":1}"#), ("/k", #"{"k":{"k":"x"}}"#), ("/k", #"{"k":"x""#),
    ("/k", #"{"k":"x"#),
    ("/k", #"{"k":"x","k":"y"}"#), ("/k", #"{"k":"x"}}"#), ("/k", #"{"k":"x"]"#), ("/k", #"{"k" "x"}"#),
    ("/k", #"{"k":"x",}"#),
    ("/k", #"{k:"x"}"#), ("/k", "{\"k\":\"x\n\"}"), ("/k", #"{"k":"\x"}"#), ("/k", #"{"k":"\u00g0"}"#),
    ("/0", "[]"),
    ("/k", String(repeating: "[", count: 100)), ("/k", #"{"k":"x"} x"#), ("/k", #"<html>"#),
  ])
  func jsonThatDoesNotHoldItIsRefused(pointer: String, text: String) {
    for piece in [1, 100] { #expect(Self.find(pointer, in: text, piece: piece) == nil, "\(text)") }
  }

  @Test(arguments: ["", "Body", "base64 ", "json", "json:data", "json:/~", "json:/~2"])
  func anUnknownFormIsRefused(text: String) {
    #expect(ResponseForm(text) == nil)
  }

  @Test(arguments: ["base64", "json:/data/0"])
  func encodedContentComesDecoded(form: String) throws {
    var options = SourceWorker.Options()
    options.response = form
    let worker = try SourceWorker(options)
    for count in [0, 1, 2, 3, 50_000, 1_000_000] {
      let content = sample(count)
      let text = Data(content).base64EncodedString()
      let body = form == "base64" ? text : #"{"ok":true,"data":["\#(text.replacing("/", with: "\\/"))"]}"#
      let server = try Server { _, exchange in exchange.answer(200, ["ETag: \"a\""], Array(body.utf8)) }
      let fetched = try worker.fetch(server.url("/")) { $0.expectedSize = Int64(count) }
      #expect(fetched.summary == "pass", "\(fetched.message)")
      #expect(fetched.holds(content))
      #expect(fetched.checkpoints.isEmpty, "it cannot be gone on with")
    }
  }

  @Test(arguments: [
    ("AAAA", "pass"), ("AAA", "fail bad-encoding"), ("AA-_", "fail bad-encoding"),
    ("<html>", "fail bad-encoding"),
    ("AAAAAAAA", "reject too-large-to-fetch"),
  ])
  func badEncodingIsFinal(body: String, expected: String) throws {
    var options = SourceWorker.Options()
    options.response = "base64"
    let server = try Server { _, exchange in exchange.answer(200, [], Array(body.utf8)) }
    let fetched = try SourceWorker(options).fetch(server.url("/"), limit: 3) {
      $0.start = TransferProgress(bytes: 2, etag: "\"a\"")
    }
    #expect(fetched.summary == expected, "\(fetched.message)")
    #expect(server.requests.first?.headers["range"] == nil)
  }

  /// Much that is no content would come for as long as a transfer may take.
  @Test func aBodyThatHoldsLittleContentIsTooLarge() throws {
    var options = SourceWorker.Options()
    options.response = "base64"
    let server = try Server { _, exchange in
      exchange.send("HTTP/1.0 200 OK\r\n\r\n")
      let lines = [UInt8](repeating: 0x0A, count: 100_000)
      for _ in 0..<1000 where !exchange.send(lines) { return }
      exchange.close()
    }
    let fetched = try SourceWorker(options).fetch(server.url("/"), limit: 1000)
    #expect(fetched.summary == "reject too-large-to-fetch", "\(fetched.message)")
    #expect(server.bodyBytes < 20_000_000)
  }
}
