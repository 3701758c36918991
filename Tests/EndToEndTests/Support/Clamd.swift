import Foundation

/// ClamAV's daemon in the foreground, with its own configuration and signatures. Killed on deinitialization.
final class Clamd {
  /// For `.enabled(if:)`.
  static let isInstalled = FileManager.default.isExecutableFile(atPath: program)
  static let skipped = "skipped: clamd is not installed (apt-get install clamav-daemon)"

  private static let program = "/usr/sbin/clamd"

  /// The text that every scanner knows (EICAR), concatenated here: a scanner would report a file that
  /// contains it.
  static let eicar = [
    "X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-ANTIVIRUS", "-TEST-FILE!$H+H*",
  ].joined()
  /// The name of its signature; clamd appends that it is unofficial.
  static let signature = "Sluice.Test.Eicar.UNOFFICIAL"

  /// Its address in the form of the stage's `address`.
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

  /// Starts it, and returns once it answers.
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

  /// Kills it: its socket file stays, and no process listens.
  func stop() {
    guard let process, process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Stops it with its sockets open, until ``resume()``.
  func suspend() { signal(SIGSTOP) }
  func resume() { signal(SIGCONT) }

  private func signal(_ number: Int32) {
    guard let process, process.isRunning else { return }
    kill(process.processIdentifier, number)
  }

  /// Whether both sockets accept connections; the one with the path is created last.
  private var isListening: Bool {
    let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard made >= 0 else { return false }
    defer { close(made) }
    return FakeScanner.withAddress(of: path) { connect(made, $0, $1) } == 0
  }
}
