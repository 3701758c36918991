import CPlatform
import Foundation
import Glibc
import Pipeline
import Wire
import Workers

/// A real `sluice-worker` with the real plugin in its sandbox, used as the coordinator does.
final class SourceWorker {
  /// The folder with the worker and its plugins: `$SLUICE_BIN_DIR`, else the release build.
  static let binaries: String =
    ProcessInfo.processInfo.environment["SLUICE_BIN_DIR"]
    ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path + "/.build/release"

  /// The options of the plugin; durations in milliseconds.
  struct Options {
    var connections: Int64 = 8
    var perHost: Int64 = 8
    var redirects: Int64 = 5
    var hosts: [String] = []
    var allowPrivate = ["127.0.0.1"]
    var connectTimeout: Int64 = 2000
    var idleTimeout: Int64 = 2000
    var totalTimeout: Int64 = 60_000
    var rate: Int64 = 0
    var response = "body"
    var reusesConnections = true

    var values: [OptionValue] {
      let numbers = [
        ("connections", connections), ("per-host", perHost), ("redirects", redirects),
        ("connect-timeout", connectTimeout), ("idle-timeout", idleTimeout), ("total-timeout", totalTimeout),
        ("rate", rate),
      ]
      return numbers.map { OptionValue(name: $0.0, text: String($0.1), integer: $0.1) }
        + hosts.map { OptionValue(name: "hosts", text: $0) }
        + allowPrivate.map { OptionValue(name: "allow-private", text: $0) }
        + [
          OptionValue(name: "response", text: response),
          OptionValue(name: "reuse-connections", text: "", integer: reusesConnections ? 1 : 0),
        ]
    }
  }

  /// How a transfer ended, and what was told of it.
  struct Fetched {
    var verdict: Verdict
    var code: String?
    var message: String
    var retryAfter: Int64?
    var pauses: Bool
    var metadata: [String: String]
    var checkpoints: [TransferProgress]
    var received: [Int64]
    /// What lies in the file.
    var content: [UInt8]

    /// Whether the file is this. A comparison in `#expect` would look for the differences of long arrays.
    func holds(_ expected: [UInt8]) -> Bool { content == expected }

    /// `pass`, or the verdict and its code.
    var summary: String { code.map { "\(verdict.name) \($0)" } ?? verdict.name }
  }

  struct Failure: Error {
    var text: String
  }

  let process: WorkerProcess
  private let folder: String
  private var lastSerial: UInt64 = 0
  private(set) var checkpoints: [UInt64: [TransferProgress]] = [:]
  private(set) var received: [UInt64: [Int64]] = [:]
  private var results: [UInt64: WorkResult] = [:]
  private var files: [UInt64: String] = [:]

  /// - Parameter authorities: a file to use in the place of the system's certificate authorities, in a mount namespace of the
  ///   worker's own. Only root may have one.
  init(_ options: Options = Options(), output: Int64 = 256 << 20, authorities: String? = nil) throws {
    folder = NSTemporaryDirectory() + "sluice-http-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let tool = authorities.map {
      [
        "/usr/bin/unshare", "-m", "/bin/sh", "-c",
        "mount --bind \"$0\" /etc/ssl/certs/ca-certificates.crt && exec \"$@\"", $0,
      ]
    }
    process = try WorkerProcess(
      executable: Self.binaries + "/sluice-worker", words: ["run", tool == nil ? String(getpid()) : "0"],
      tool: tool ?? [])
    var stage = StageDefinition(
      id: "http",
      description: StageDescription(
        id: "http", version: "1.0.0", summary: "", file: Self.binaries + "/libsluice-http.so"),
      values: options.values)
    stage.memory = 512 << 20
    try process.open(
      Setup(stages: [stage], sandbox: .require, capability: .network, output: output))
    try wait(seconds: 30) { process in
      switch process.hear() {
      case .message(.ready): return true
      case .message(.refusal(let refusal)): throw Failure(text: refusal.message)
      case .nothing: return false
      default: throw Failure(text: "the worker does not open: \(process.lastWords)")
      }
    }
  }

  deinit {
    process.kill()
    process.reap()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The path of a transfer's file.
  func file(_ name: String) -> String { "\(folder)/\(name)" }

  /// Hands over a transfer. Its file is made, with this content, or kept if it is there.
  func give(
    _ url: String, file name: String? = nil, content: [UInt8]? = nil, limit: Int64 = 64 << 20,
    _ change: (inout TransferWork) -> Void = { _ in }
  ) throws -> UInt64 {
    lastSerial += 1
    let serial = lastSerial
    let path = file(name ?? "\(serial)")
    if let content { try Data(content).write(to: URL(fileURLWithPath: path)) }
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 { throw Failure(text: "open: \(errno)") }
    defer { close(descriptor) }
    var work = TransferWork(serial: serial, id: "t\(serial)", url: url, limit: limit)
    change(&work)
    guard case .given = process.give(work, descriptor: descriptor) else { throw Failure(text: "not given") }
    files[serial] = path
    return serial
  }

  func hasEnded(_ serial: UInt64) -> Bool { results[serial] != nil }

  func order(_ serial: UInt64, _ kind: TransferOrder.Kind) {
    _ = process.give(TransferOrder(serial: serial, kind))
  }

  /// Waits for the end of a transfer.
  func result(of serial: UInt64, within seconds: Double = 30) throws -> Fetched {
    if results[serial] == nil { try listen(within: seconds) { results[serial] != nil } }
    guard let result = results.removeValue(forKey: serial), let stage = result.report.results.first else {
      throw Failure(text: "no result")
    }
    let path = files[serial] ?? ""
    return Fetched(
      verdict: stage.verdict, code: stage.code, message: stage.message ?? "", retryAfter: stage.retryAfter,
      pauses: stage.pausesLane,
      metadata: Dictionary(
        result.report.metadata.map { ($0.key, $0.value.text) }, uniquingKeysWith: { first, _ in first }),
      checkpoints: checkpoints[serial] ?? [], received: received[serial] ?? [],
      content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
  }

  /// Fetches one link to its end.
  func fetch(
    _ url: String, file name: String? = nil, content: [UInt8]? = nil, limit: Int64 = 64 << 20,
    _ change: (inout TransferWork) -> Void = { _ in }
  ) throws -> Fetched {
    try result(of: give(url, file: name, content: content, limit: limit, change))
  }

  /// Takes what the worker says until something holds.
  func listen(within seconds: Double, until isDone: () -> Bool) throws {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while true {
      drain: while true {
        switch process.hear() {
        case .message(.news(let news)):
          switch news.kind {
          case .checkpoint(let progress): checkpoints[news.serial, default: []].append(progress)
          case .received(let bytes): received[news.serial, default: []].append(bytes)
          }
        case .message(.result(let result)): results[result.serial] = result
        case .nothing: break drain
        case .closed:
          let cause = process.endAfterClosing()
          throw Failure(text: "the worker ended: \(cause): \(process.lastWords)")
        case .message(let other): throw Failure(text: "unexpected: \(other)")
        }
      }
      if isDone() { return }
      if Date() > deadline { throw Failure(text: "nothing within \(seconds) s") }
      var one = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
      poll(&one, 1, 20)
      _ = process.drainStandardError()
    }
  }

  private func wait(seconds: Double, until isDone: (WorkerProcess) throws -> Bool) throws {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while try !isDone(process) {
      if Date() > deadline { throw Failure(text: "nothing within \(seconds) s") }
      var one = pollfd(fd: process.socket, events: Int16(POLLIN), revents: 0)
      poll(&one, 1, 20)
    }
  }
}

/// Bytes that differ at each place and for each seed.
func sample(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + 8)
  while bytes.count < count {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    withUnsafeBytes(of: state) { bytes.append(contentsOf: $0) }
  }
  return Array(bytes.prefix(count))
}
