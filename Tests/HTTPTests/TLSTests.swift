import Foundation
import Glibc
import Testing

/// Secure connections, with `openssl s_server` at the other end.
@Suite(.serialized, .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")))
struct TLSTests {
  @Test(.enabled(if: SecureServer.canMount))
  func aServerWhoseAuthorityIsTrustedIsAsked() throws {
    let server = try SecureServer()
    let worker = try SourceWorker(authorities: server.certificate)
    let fetched = try worker.fetch(server.url("127.0.0.1"))
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(SecureServer.content))
    let other = try SourceWorker(options(["127.0.0.1", "localhost"]), authorities: server.certificate)
      .fetch(server.url("localhost"))
    #expect(other.summary == "retry tls-failed", "the certificate is of another name")
  }

  @Test func anUnknownAuthorityIsNotTrusted() throws {
    let server = try SecureServer()
    let fetched = try SourceWorker().fetch(server.url("127.0.0.1"))
    #expect(fetched.summary == "retry tls-failed", "\(fetched.message)")
    #expect(fetched.message.contains("certificate"), "\(fetched.message)")
    #expect(fetched.content.isEmpty)
  }

  @Test(.enabled(if: SecureServer.canMount))
  func anOldVersionIsRefused() throws {
    let server = try SecureServer("-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    let fetched = try SourceWorker(authorities: server.certificate).fetch(server.url("127.0.0.1"))
    #expect(fetched.summary == "retry tls-failed", "\(fetched.message)")
  }

  private func options(_ private: [String]) -> SourceWorker.Options {
    var options = SourceWorker.Options()
    options.allowPrivate = `private`
    return options
  }
}

/// `openssl s_server`, which serves one file.
private final class SecureServer {
  static let content = sample(100_000)

  let certificate: String
  private let folder: String
  private let port: UInt16
  private let process = Process()

  init(_ arguments: String...) throws {
    folder = NSTemporaryDirectory() + "sluice-tls-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    certificate = folder + "/certificate.pem"
    try Self.run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-keyout", folder + "/key.pem", "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext",
      "subjectAltName=IP:127.0.0.1",
    ])
    try Data(Self.content).write(to: URL(fileURLWithPath: folder + "/file"))
    port = try Server.closedPort()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.arguments =
      [
        "s_server", "-accept", "127.0.0.1:\(port)", "-cert", certificate, "-key", folder + "/key.pem", "-WWW",
        "-quiet",
      ] + arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    try waitUntilItListens()
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)  // it inherits blocked signals
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func url(_ host: String) -> String { "https://\(host):\(port)/file" }

  /// By a connection, and not by `/proc/net/tcp`: Foundation reads such a file once, and that gives the first 4 KiB of it.
  private func waitUntilItListens() throws {
    for _ in 0..<200 where process.isRunning {
      if try Server.accepts(port) { return }
      usleep(20_000)
    }
    throw Server.Failure(
      call: process.isRunning ? "openssl s_server does not listen" : "openssl s_server has ended", number: 0)
  }

  private static func run(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw Server.Failure(call: "openssl") }
  }

  /// Whether a worker may have other authorities than the system, determined by trying.
  static let canMount: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = [
      "-m", "/bin/sh", "-c", "mount --bind /dev/null /etc/ssl/certs/ca-certificates.crt",
    ]
    process.standardError = FileHandle.nullDevice
    guard geteuid() == 0, (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()
}
