import Glibc

/// Tells systemd how this program is (sd_notify(3)), where that wants to know: a unit of `Type=notify`, perhaps with `WatchdogSec=`.
///
/// By hand, as that page suggests for programs that want no further library: a message is one datagram of a few lines of text.
public final class ServiceManager {
  private let socket: Int32
  /// Nanoseconds between two signs of life; `nil`: none are wanted.
  private let interval: UInt64?
  private var beatAt: UInt64 = 0

  /// Takes what systemd said out of the environment, so that no process that is started from here can speak for this one.
  ///
  /// Before any thread is started. Where systemd wants to know nothing, nothing is told.
  public convenience init() {
    func value(_ name: String) -> String? {
      defer { unsetenv(name) }
      return getenv(name).map { String(cString: $0) }
    }
    self.init(place: value("NOTIFY_SOCKET"), time: value("WATCHDOG_USEC"), process: value("WATCHDOG_PID"))
  }

  /// - Parameters:
  ///   - place: the socket: a path, or a name of the abstract namespace that begins with `@`.
  ///   - time: microseconds within which a sign of life is wanted.
  ///   - process: whose life that is; `nil`: this one's.
  public init(place: String?, time: String?, process: String?) {
    socket = place.map(Self.connect) ?? -1
    let isForThis = process.map { $0 == "\(getpid())" } ?? true
    // Twice as often as is asked for.
    interval = isForThis ? time.flatMap { UInt64($0) }.map { min($0, .max / 1000) * 500 } : nil
  }

  deinit { if socket >= 0 { close(socket) } }

  /// It does what it is there for.
  public func ready() { send("READY=1") }

  /// It has begun to end.
  public func stopping() { send("STOPPING=1") }

  /// It lives. Sends no more than is asked for, however often it is called.
  ///
  /// - Parameter now: nanoseconds of the monotonic clock.
  public func beat(at now: UInt64) {
    guard socket >= 0, let interval, now - min(beatAt, now) >= interval || beatAt == 0 else { return }
    beatAt = now
    send("WATCHDOG=1")
  }

  private func send(_ text: String) {
    // Where it cannot be told, systemd will notice by itself.
    if socket >= 0 {
      _ = Glibc.send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
  }

  private static func connect(_ place: String) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(place.utf8)
    guard let first = name.first, name.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
    if first == UInt8(ascii: "@") { name[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    // A name of the abstract namespace ends where the address does.
    let length = MemoryLayout<sa_family_t>.size + name.count + (first == UInt8(ascii: "@") ? 0 : 1)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(length))
      }
    }
    if result == 0 { return socket }
    if socket >= 0 { close(socket) }
    return -1
  }
}
