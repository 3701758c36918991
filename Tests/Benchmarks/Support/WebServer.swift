import Glibc
import Platform

/// nginx on addresses of this machine, serving a folder.
final class WebServer {
  let port: UInt16
  private let child: Child
  private let log: String

  var pid: pid_t { child.pid }

  /// A request that was answered in full.
  struct Answer {
    /// Seconds since 1970.
    var begin: Double
    var end: Double
    var path: String
  }

  /// - Parameters:
  ///   - folder: what is served.
  ///   - addresses: of the loopback network, each a host.
  ///   - rate: bytes a second of each connection; 0: no limit.
  ///   - isLogged: whether ``answers()`` are wanted.
  init(
    _ folder: String, addresses: [String] = ["127.0.0.1"], rate: Int = 0, isLogged: Bool = false
  ) throws {
    guard let program = Settings.program("nginx", besides: ["/usr/sbin"]) else {
      throw Skipped(reason: "no nginx; install nginx-light")
    }
    let port = try Self.freePort()
    self.port = port
    let base = Ground.path + "/nginx"
    let log = base + ".log"
    self.log = log
    try Files.write("", to: log)
    let listens = addresses.map { "listen \($0):\(port);" }.joined(separator: " ")
    try Files.write(
      """
      daemon off; worker_processes 1; error_log \(base).error; pid \(base).pid; \(getuid() == 0 ? "user root;" : "")
      events { worker_connections 512; }
      http {
        log_format times '$msec $request_time $status $uri';
        access_log \(isLogged ? "\(log) times" : "off"); client_body_temp_path \(base).body;
        sendfile on; tcp_nopush on; keepalive_requests 1000000;
        server { \(listens) root \(folder); limit_rate \(rate); }
      }

      """, to: base + ".conf")
    child = try Child([program, "-e", base + ".error", "-c", base + ".conf"], out: Ground.output("nginx"))
    while !Self.isListening(port) {
      if child.hasEnded(within: 0.01) || child.age > 10 {
        throw BenchError("nginx does not begin: \(Files.tail(base + ".error")) \(Files.tail(child.errors))")
      }
    }
  }

  /// The URL of a file at one of its addresses.
  func url(_ name: String, at address: String = "127.0.0.1") -> String { "http://\(address):\(port)/\(name)" }

  func end() throws {
    child.signal(SIGTERM)
    try child.end(as: 0, within: 10)
  }

  /// What was answered so far.
  func answers() throws -> [Answer] {
    try Files.text(log).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 4, words[2] == "200", let end = Double(words[0]), let length = Double(words[1])
      else { return nil }
      return Answer(begin: end - length, end: end, path: String(words[3]))
    }
  }

  // MARK: Ports

  private static func freePort() throws -> UInt16 {
    let socket = try LoopbackSocket()
    return socket.port
  }

  private static func isListening(_ port: UInt16) -> Bool {
    (try? LoopbackSocket(connectingTo: 0x7F00_0001, port)) != nil
  }
}
