import Foundation
import Testing

/// Another process at the home while a command runs: a working coordinator, a stopped one, or a lying socket.
final class Companion {
  private var coordinator: ChildProcess?
  private var socket: Int32 = -1

  init(_ environment: OddEnvironment, _ scene: OddScene, _ folder: TemporaryFolder) throws {
    switch environment.home {
    case .worked, .stopped:
      let words =
        ["cd", folder.path, "&&", "exec"] + User.command(environment.user, [])
        + [scene.program, "run", "--home", "home", "--config", "pipeline.yaml"]
      let process = try ChildProcess(shell: words.joined(separator: " "))
      coordinator = process
      // A coordinator that may not have the home exits at once; that is fine.
      _ = process.wait(seconds: 20) { process.err.contains("works the queue") || process.end != nil }
      if environment.home == .stopped { process.send(SIGSTOP) }
    case .staleSocket, .muteSocket:
      try listen(folder.path + "/home/sluice.sock")
      if environment.home == .staleSocket { close() }
    default: break
    }
  }

  /// Ends it, and waits for the work in hand.
  func end() {
    if let coordinator {
      coordinator.send(SIGCONT)
      coordinator.send(SIGTERM)
      _ = coordinator.wait(seconds: 30) { coordinator.end != nil }
      coordinator.kill()
    }
    close()
  }

  private func close() {
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  /// The kernel accepts connections, and no process reads.
  private func listen(_ path: String) throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && Glibc.listen(socket, 16) == 0)
    chmod(path, 0o666)
  }
}
