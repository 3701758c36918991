import Foundation
import Testing

/// Two network namespaces with a line between them: one has web servers (nginx), in the other a coordinator fetches. Only root may
/// make them.
final class TwoHosts {
  private static let router = "198.18.0.1"
  /// The hosts that serve files: addresses for documentation (RFC 5737), which lead nowhere else.
  static func address(_ number: Int) -> String { "203.0.113.\(number)" }
  static let port = 8080

  private let folder: TemporaryFolder
  private let client = "sluice-c-\(UUID().uuidString.prefix(8))"
  private let server = "sluice-s-\(UUID().uuidString.prefix(8))"
  private var nginx: Process?

  static let isPossible: Bool = {
    guard geteuid() == 0,
      ["/usr/sbin/ip", "/usr/sbin/nginx"].allSatisfy(FileManager.default.isExecutableFile),
      let folder = try? TemporaryFolder()
    else { return false }
    return (try? TwoHosts(folder, hosts: 1)) != nil
  }()

  /// For `.enabled(if:)`.
  static let skipped =
    "skipped: only root with ip(8) and nginx may make two hosts, and not in every container"

  private struct Refused: Error {
    var words: [String]
  }

  /// - Parameters:
  ///   - folder: has the files to serve in its folder `served`.
  ///   - hosts: how many addresses serve them. The one after the last answers nothing at all.
  ///   - rate: bytes a second of a connection; 0: no limit.
  init(_ folder: TemporaryFolder, hosts: Int, rate: Int = 0) throws {
    self.folder = folder
    for name in [client, server] {
      try ip("netns", "add", name)
      try ip("-n", name, "link", "set", "lo", "up")
    }
    try ip(
      "link", "add", "veth-c", "netns", client, "type", "veth", "peer", "name", "veth-s", "netns", server)
    try ip("-n", client, "addr", "add", "198.18.0.2/30", "dev", "veth-c")
    try ip("-n", server, "addr", "add", "\(Self.router)/30", "dev", "veth-s")
    for number in 1...hosts {
      try ip("-n", server, "addr", "add", "\(Self.address(number))/32", "dev", "veth-s")
    }
    try ip("-n", server, "route", "add", "blackhole", Self.address(hosts + 1))
    try ip("-n", client, "link", "set", "veth-c", "up")
    try ip("-n", server, "link", "set", "veth-s", "up")
    try addRoute()
    try folder.write("served/0", "0")
    try folder.write(
      "nginx.conf",
      """
      daemon off; user root; worker_processes 1; error_log \(folder.path)/nginx.err; pid \(folder.path)/nginx.pid;
      events { worker_connections 256; }
      http {
        log_format times '$msec $status $request_uri'; access_log \(folder.path)/requests times;
        keepalive_timeout 0; client_body_temp_path \(folder.path)/nginx;
        server { listen \(Self.port); root \(folder.path)/served; limit_rate \(rate); }
      }
      """)
    nginx = try SluiceCommand.start(
      ["netns", "exec", server, "/usr/sbin/nginx", "-c", folder.path + "/nginx.conf"], in: folder,
      out: folder.path + "/nginx.out", err: folder.path + "/nginx.err2", program: "/usr/sbin/ip")
    try Resident.wait("nginx listens") {
      FileManager.default.fileExists(atPath: folder.path + "/nginx.pid") || nginx?.isRunning == false
    }
  }

  deinit {
    if let nginx, nginx.isRunning {
      kill(nginx.processIdentifier, SIGTERM)
      nginx.waitUntilExit()
    }
    for name in [client, server] { _ = try? FixtureStages.run("/usr/sbin/ip", ["netns", "delete", name]) }
  }

  private func ip(_ words: String...) throws {
    if try FixtureStages.run("/usr/sbin/ip", words) != 0 { throw Refused(words: words) }
  }

  /// Makes the line slow towards the host that fetches: 20 Mbit a second, 30 ms on the way where the kernel has netem, and a queue
  /// of 100 ms.
  ///
  /// Its kernel keeps up to 6 MB of a connection, as Linux does by default: eight transfers that stand still would take the line
  /// for many seconds until that is full.
  func slowDown() throws {
    try sysctl(client, "net.ipv4.tcp_rmem=4096 131072 6291456")
    // BBR, where it is the default, takes a line without a delay for one without bandwidth.
    try sysctl(server, "net.ipv4.tcp_congestion_control=reno")
    let netem = ["netem", "delay", "30ms", "rate", "20mbit", "limit", "170"]
    let bucket = ["tbf", "rate", "20mbit", "burst", "16kb", "limit", "250kb"]
    // A packet is to be one, as on a line of its own.
    try ip("-n", server, "link", "set", "veth-s", "gso_max_segs", "1")
    for words in [netem, bucket] where try tc("add", words) == 0 { return }
    throw Refused(words: bucket)
  }

  func speedUp() throws { if try tc("delete", []) != 0 { throw Refused(words: ["delete"]) } }

  /// Whether tc(8) is there, and the kernel can make a line slow.
  static let canSlowDown: Bool = {
    guard isPossible, ["/usr/sbin/tc", "/usr/sbin/sysctl"].allSatisfy(FileManager.default.isExecutableFile),
      let folder = try? TemporaryFolder(), let hosts = try? TwoHosts(folder, hosts: 1)
    else { return false }
    return (try? hosts.slowDown()) != nil
  }()

  /// For `.enabled(if:)`.
  static let cannotSlowDown = "\(skipped); or the kernel has neither netem nor tbf for tc(8)"

  private func tc(_ verb: String, _ words: [String]) throws -> Int32 {
    try FixtureStages.run(
      "/usr/sbin/ip",
      ["netns", "exec", server, "/usr/sbin/tc", "qdisc", verb, "dev", "veth-s", "root"] + words)
  }

  private func sysctl(_ host: String, _ setting: String) throws {
    let words = ["netns", "exec", host, "/usr/sbin/sysctl", "-qw", setting]
    if try FixtureStages.run("/usr/sbin/ip", words) != 0 { throw Refused(words: words) }
  }

  func addRoute() throws { try ip("-n", client, "route", "add", "default", "via", Self.router) }
  func deleteRoute() throws { try ip("-n", client, "route", "delete", "default") }

  /// Starts a coordinator on the host that fetches.
  func startCoordinator() throws -> Process {
    let process = try SluiceCommand.start(
      [
        "netns", "exec", client, SluiceCommand.folder + "/sluice", "run", "--home", "home", "--format",
        "json",
      ],
      in: folder, out: folder.path + "/run.out", err: folder.path + "/run.err", program: "/usr/sbin/ip")
    try Resident.wait("it works") {
      try folder.read("run.err").contains("works the queue of") || !process.isRunning
    }
    return process
  }

  /// The requests that were answered: when, in seconds since 1970, with which status, for which path.
  func requests() throws -> [(time: Double, status: String, path: String)] {
    try folder.read("requests").split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let time = Double(words[0]) else { return nil }
      return (time, String(words[1]), String(words[2]))
    }
  }
}
