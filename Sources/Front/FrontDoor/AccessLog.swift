import FrontWire
import Glibc
import LedgerPort
import Platform
import Scheduler
import Synchronization

/// The log of requests: a line of JSON for each that has ended. All threads use it.
///
/// It has no secrets: of a token its id and name, of a path what stands before the query.
final class AccessLog: Sendable {
  /// What is known of a request when it begins.
  struct Entry: Sendable {
    var peer: String
    var method: String
    var path: String
    var userAgent: String?
    var traceparent: String?
    var token: AccessToken?

    /// Where there is no log.
    static let unlogged = Entry(FrontRequest(serial: 0, method: "", segments: []), peer: "")

    init(_ request: FrontRequest, peer: String) {
      (self.peer, method) = (peer, request.method)
      path = "/" + request.segments.joined(separator: "/")
      userAgent = request.field("user-agent").map { String($0.prefix(AccessLog.textLimit)) }
      traceparent = request.traceparent
    }
  }

  private struct State {
    var file: SharedDescriptor?
    /// Lines are lost, and that was told.
    var isFailing = false
    /// The last line has no end.
    var isCut = false
  }

  /// As it is given; `-`: standard output.
  let path: String
  private let say: @Sendable (String) -> Void
  private let state: Mutex<State>

  /// Characters of a text that a client chose.
  private static let textLimit = 256
  static let standardOutput = "-"

  /// - Parameter path: the file that lines are added to; it is made where there is none.
  init(_ path: String, say: @escaping @Sendable (String) -> Void) throws(SystemError) {
    (self.path, self.say) = (path, say)
    state = Mutex(State(file: try Self.open(path)))
  }

  private static func open(_ path: String) throws(SystemError) -> SharedDescriptor {
    if path != standardOutput {
      return SharedDescriptor(
        try Descriptor.open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY, mode: 0o640))
    }
    let copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
    if copy < 0 { throw SystemError("writing the access log to standard output") }
    return SharedDescriptor(Descriptor(owning: copy))
  }

  func add(_ entry: Entry, _ end: FrontEnd) { write(Self.line(entry, end, at: Clock.now())) }

  /// A check by a client of ClamAV's daemon.
  func add(_ result: CheckResult, door: String, seconds: Double) {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("time", Clock.timestamp(Clock.now()))
      writer.member("door", door)
      writer.member("verdict", result.verdict.rawValue)
      writer.member("reason", result.reason)
      writer.member("mediaType", result.mediaType)
      writer.member("sizeBytes", result.sizeBytes)
      writer.member("sha256", result.sha256)
      writer.key("seconds")
      writer.value(seconds)
    }
    write(writer.text)
  }

  private func write(_ text: String) {
    state.withLock { state in
      guard let file = state.file else { return }
      let line = Array(((state.isCut ? "\n" : "") + text + "\n").utf8)
      let (count, error) = line.withUnsafeBytes { Descriptor.writeAll($0, to: file.number) }
      if count > 0 { state.isCut = count < line.count }
      if error != 0 && !state.isFailing {
        say("lines of the access log are lost: \(SystemError("writing \(path)", code: error))")
      }
      state.isFailing = error != 0
    }
  }

  /// Goes on in a new file, where the old one was moved or taken away, as logrotate does. To be called every now and then.
  func reopenWhereMoved() {
    if path == Self.standardOutput { return }
    var there = stat()
    var open = stat()
    let isThere = stat(path, &there) == 0
    state.withLock { state in
      if let file = state.file, isThere, fstat(file.number, &open) == 0, open.st_ino == there.st_ino,
        open.st_dev == there.st_dev
      {
        return
      }
      do throws(SystemError) {
        state.file = try Self.open(path)
      } catch {
        if !state.isFailing { say("the access log cannot be opened: \(error)") }
        state.isFailing = true
      }
    }
  }

  static func line(_ entry: Entry, _ end: FrontEnd, at time: Int64) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("time", Clock.timestamp(time))
      writer.member("peer", entry.peer)
      writer.member("method", entry.method)
      writer.member("path", entry.path)
      writer.member("status", Int64(end.status))
      writer.member("receivedBytes", end.received)
      writer.member("sentBytes", end.sent)
      writer.key("seconds")
      writer.value(Double(end.microseconds) / 1e6)
      // Whether the client took all of the answer.
      writer.member("isWhole", end.isWhole)
      if let token = entry.token {
        writer.member("token", token.id)
        writer.member("name", token.name)
        writer.member("role", token.role.rawValue)
      }
      if let agent = entry.userAgent { writer.member("userAgent", agent) }
      if let trace = entry.traceparent { writer.member("traceparent", trace) }
    }
    return writer.text
  }
}
