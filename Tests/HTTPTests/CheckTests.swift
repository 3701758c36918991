import Foundation
import Testing

/// `sluice stages check http`, as its author would run it.
struct CheckTests {
  private struct Check: Decodable {
    var name: String
    var result: String
    var message: String?
  }

  /// A server of two files.
  ///
  /// - Parameter knowsRanges: whether it gives the rest of a file where it is asked for that.
  private static func server(knowsRanges: Bool) throws -> Server {
    let files = ["/large": sample(12 << 20), "/small": sample(5000, seed: 2)]
    return try Server { request, exchange in
      guard let content = files[request.path] else { return exchange.answer(404) }
      if knowsRanges, let first = request.first, first < content.count {
        let range = "Content-Range: bytes \(first)-\(content.count - 1)/\(content.count)"
        return exchange.answer(206, [range, "ETag: \"one\""], content[first...])
      }
      exchange.answer(200, knowsRanges ? ["ETag: \"one\"", "Accept-Ranges: bytes"] : [], content)
    }
  }

  private static func check(_ words: [String]) throws -> (status: Int32, checks: [Check], text: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: SourceWorker.binaries + "/sluice")
    process.arguments = ["stages", "check", "http", "--format", "json"] + words
    let (out, errors) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (out, errors)
    try process.run()
    let text = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let checks = try text.split(separator: "\n").map {
      try JSONDecoder().decode(Check.self, from: Data($0.utf8))
    }
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return (process.terminationStatus, checks, text + said)
  }

  /// Without ranges in the long run only.
  private static let servers =
    ProcessInfo.processInfo.environment["SLUICE_SOAK"] == nil ? [true] : [true, false]

  @Test(arguments: servers)
  func theSourceIsAsSourcesShouldBe(knowsRanges: Bool) throws {
    let server = try Self.server(knowsRanges: knowsRanges)
    // Slow enough that a transfer is interrupted in the middle on a busy machine too.
    let (status, checks, text) = try Self.check([
      "--set", "allow-private=127.0.0.1", "--set", "rate=4MB", "--set", "connect-timeout=1s", "--link",
      server.url("/large"), "--link", server.url("/small"),
    ])
    #expect(status == 0, "\(text)")
    let done = checks.filter { $0.result == "passed" }.map(\.name)
    for name in ["fetch", "links", "several", "stop", "hold", "limit", "killed", "transfers", "passes"] {
      #expect(done.contains(name), "\(text)")
    }
    if knowsRanges {
      #expect(server.requests.contains { ($0.first ?? 0) > 0 }, "it went on from where it was: \(text)")
    }
  }

  @Test func aLinkThatIsNotAllowedIsNotFetched() throws {
    let server = try Self.server(knowsRanges: true)
    let (status, checks, _) = try Self.check(["--link", server.url("/small")])
    #expect(status == 1)
    let failed = checks.filter { $0.result == "failed" }
    #expect(failed.map(\.name) == ["fetch"])
    #expect(failed.first?.message?.contains("address-not-allowed") == true)
    #expect(server.requests.isEmpty)
  }
}
