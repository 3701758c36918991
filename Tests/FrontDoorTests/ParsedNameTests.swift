import Foundation
import Glibc
import Testing

@testable import FrontDoor

/// What programs make of the names in `Content-Disposition`.
struct ParsedNameTests {
  private static func program(_ name: String) -> String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map {
      "\($0)/\(name)"
    }.first { access($0, X_OK) == 0 }
  }

  private static let python = program("python3")
  private static let curl = program("curl")

  /// Reads a field a line, and answers with the names that its parsers find; then serves each, for curl, until its input ends.
  private static let reader = """
    import sys, json, warnings, email, email.policy, http.server, threading
    warnings.simplefilter("ignore")
    try:
        import cgi
    except ImportError:
        cgi = None
    fields = [line.rstrip("\\n") for line in open(sys.argv[1], encoding="ascii")]
    out = []
    for field in fields:
        text = "Content-Disposition: " + field + "\\n\\n"
        names = [email.message_from_string(text).get_filename(),
                 email.message_from_string(text, policy=email.policy.default).get_filename()]
        if cgi:
            names.append(cgi.parse_header(field)[1].get("filename"))
        out.append(names)
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Disposition", fields[int(self.path[1:])])
            self.send_header("Content-Length", "0")
            self.end_headers()
        def log_message(self, *rest):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_port, "names": out}), flush=True)
    sys.stdin.read()
    """

  private struct Read: Decodable {
    var port: Int
    var names: [[String?]]
  }

  @Test(.enabled(if: python != nil && curl != nil, "skipped: there is no python3, or no curl"))
  func programsFindTheHarmlessName() throws {
    let folder = NSTemporaryDirectory() + "sluice-names-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder + "/got", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "\"", "\\", "/", "..", "../", "\r\n", "\n", "\0", ";", "%0d%0a", "%2f", "é", "🎉", "\u{202E}", "a", ".",
      " ", "\t", "filename*=UTF-8''", "=", "'", ",", "=?utf-8?q?=2e=2e=2f?=", "*0=", "~", "-", "$(id)",
      "\u{7F}",
      "<", "|", "con", ":",
    ]
    // The number at the end makes each another's.
    let names = (0..<1000).map { number in
      (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined() + "x\(number)"
    }
    let fields = names.map { ContentFields.disposition($0, isShown: false) }
    try (fields.joined(separator: "\n") + "\n").write(
      toFile: folder + "/fields", atomically: false, encoding: .utf8)

    let python = Process()
    python.executableURL = URL(fileURLWithPath: Self.python ?? "")
    python.arguments = ["-c", Self.reader, folder + "/fields"]
    let (input, output) = (Pipe(), Pipe())
    (python.standardInput, python.standardOutput) = (input, output)
    try python.run()
    defer {
      try? input.fileHandleForWriting.close()
      python.waitUntilExit()
    }
    var line = Data()
    while !line.contains(10), case let more = output.fileHandleForReading.availableData, !more.isEmpty {
      line += more
    }
    let read = try JSONDecoder().decode(Read.self, from: line)
    #expect(read.names.count == names.count)
    func plain(_ field: String) -> String {
      String(field.dropFirst("attachment; filename=\"".count).prefix { $0 != "\"" })
    }
    for (index, found) in read.names.enumerated() {
      let wanted = [ContentFields.harmless(names[index]), plain(fields[index])]
      for name in found {
        #expect(name.map(wanted.contains) == true, "\(fields[index]): \(name ?? "no name")")
      }
    }

    let curl = Process()
    curl.executableURL = URL(fileURLWithPath: Self.curl ?? "")
    curl.arguments = ["-sS", "-q", "-OJ", "http://127.0.0.1:\(read.port)/[0-\(names.count - 1)]"]
    curl.currentDirectoryURL = URL(fileURLWithPath: folder + "/got")
    try curl.run()
    curl.waitUntilExit()
    #expect(curl.terminationStatus == 0)
    let saved = try FileManager.default.contentsOfDirectory(atPath: folder + "/got")
    #expect(Set(saved) == Set(fields.map(plain)))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["fields", "got"])
  }
}
