import Foundation

/// ClamAV's daemon in the foreground, with a configuration and signatures of its own. It is killed with this object.
final class Clamd {
  /// For `.enabled(if:)`.
  static let isInstalled = FileManager.default.isExecutableFile(atPath: program)
  static let skipped = "skipped: clamd is not installed (apt-get install clamav-daemon)"

  private static let program = "/usr/sbin/clamd"

  /// The text every scanner knows (EICAR), put together here: a scanner would find a file that contains it.
  static let eicar = [
    "X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-ANTIVIRUS", "-TEST-FILE!$H+H*",
  ].joined()
  /// The name of its signature; clamd adds that it is not one of its makers'.
  static let signature = "Sluice.Test.Eicar.UNOFFICIAL"

  /// Where it listens, as the stage's `address` says it.
  let unix: String
  let tcp: String
  private let folder: TemporaryFolder
  private let path: String
  private var process: Process?

  struct DoesNotStart: Error {
    var log: String
  }

  /// - Parameter settings: further lines of its configuration.
  init(_ settings: String...) throws {
    folder = try TemporaryFolder()
    path = folder.path + "/clamd.sock"
    unix = "unix:" + path
    let port = try WebhookReceiver.closedPort()
    tcp = "tcp:127.0.0.1:\(port)"
    let pattern = Self.eicar.utf8.map { String(format: "%02x", $0) }.joined()
    try folder.write("signatures/test.ndb", "Sluice.Test.Eicar:0:*:\(pattern)\n")
    let lines =
      [
        "Foreground yes", "LocalSocket \(path)", "TCPSocket \(port)", "TCPAddr 127.0.0.1",
        "DatabaseDirectory \(folder.path)/signatures", "TemporaryDirectory \(folder.path)",
        "LogFile \(folder.path)/clamd.log",
      ] + settings
    try folder.write("clamd.conf", lines.joined(separator: "\n") + "\n")
    try start()
  }

  deinit {
    stop()
  }

  /// Returns once it answers.
  func start() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments = ["--config-file", folder.path + "/clamd.conf"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    self.process = process
    for _ in 0..<3000 where process.isRunning {
      if isListening { return }
      usleep(10_000)
    }
    stop()
    throw DoesNotStart(log: (try? folder.read("clamd.log")) ?? "")
  }

  /// Kills it: its socket stays behind, and nobody listens there.
  func stop() {
    guard let process, process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// It keeps its sockets and says nothing, until ``resume()``.
  func suspend() { signal(SIGSTOP) }
  func resume() { signal(SIGCONT) }

  private func signal(_ number: Int32) {
    guard let process, process.isRunning else { return }
    kill(process.processIdentifier, number)
  }

  /// Whether somebody takes connections on both sockets; of them the one for the path is made last.
  private var isListening: Bool {
    let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard made >= 0 else { return false }
    defer { close(made) }
    return FakeScanner.withAddress(of: path) { connect(made, $0, $1) } == 0
  }
}
