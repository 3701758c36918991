import CPlatform
import Glibc

/// Where a server listens.
public enum ListenAddress: Sendable, Equatable {
  /// An IPv4 or IPv6 address, and a port; 0: any that is free.
  case tcp(host: String, port: UInt16)
  case unix(path: String)
  /// Sockets that systemd made (sd_listen_fds(3)).
  case systemd

  /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `unix:/path` or `systemd`.
  ///
  /// - Returns: `nil`, where it is none of these. Names of hosts are not looked up: what they stand for may change.
  public init?(_ text: String) {
    if text == "systemd" {
      self = .systemd
    } else if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard path.hasPrefix("/"), path.utf8.count < Self.longestPath, !path.utf8.contains(0) else {
        return nil
      }
      self = .unix(path: path)
    } else {
      guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
        return nil
      }
      var host = String(text[..<colon])
      if host == "localhost" { host = "127.0.0.1" }
      var four = in_addr()
      var six = in6_addr()
      if host.hasPrefix("[") && host.hasSuffix("]") {
        host = String(host.dropFirst().dropLast())
        guard inet_pton(AF_INET6, host, &six) == 1 else { return nil }
      } else {
        guard inet_pton(AF_INET, host, &four) == 1 else { return nil }
      }
      self = .tcp(host: host, port: port)
    }
  }

  /// Whether only this machine reaches it.
  public var isLocal: Bool {
    switch self {
    case .tcp(let host, _): host.hasPrefix("127.") || host == "::1"
    case .unix, .systemd: true
    }
  }

  /// Where a socket listens: `http://127.0.0.1:8080`, or `unix:/path`.
  public static func name(of socket: Int32) -> String {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let asked = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    if asked != 0 { return "a socket" }
    return withUnsafeBytes(of: address) { bytes in
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      switch Int32(address.ss_family) {
      case AF_INET:
        let four = bytes.load(as: sockaddr_in.self)
        var host = four.sin_addr
        inet_ntop(AF_INET, &host, &text, socklen_t(text.count))
        return "http://\(string(text)):\(UInt16(bigEndian: four.sin_port))"
      case AF_INET6:
        let six = bytes.load(as: sockaddr_in6.self)
        var host = six.sin6_addr
        inet_ntop(AF_INET6, &host, &text, socklen_t(text.count))
        return "http://[\(string(text))]:\(UInt16(bigEndian: six.sin6_port))"
      default:
        let start = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path) ?? 2
        let path = bytes[start..<max(Int(length), start)].prefix { $0 != 0 }
        return "unix:\(String(decoding: path, as: UTF8.self))"
      }
    }
  }

  private static func string(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Bytes of a path with its end (unix(7)).
  private static let longestPath = 108

  /// Makes the sockets, which listen.
  ///
  /// A socket's file that is left from a process that has ended is replaced.
  public func listen() throws(SystemError) -> [SharedDescriptor] {
    switch self {
    case .tcp(let host, let port): [try Self.tcp(host, port)]
    case .unix(let path): [try Self.unix(path)]
    case .systemd: try Self.inherited()
    }
  }

  private static let backlog: Int32 = 4096

  private static func tcp(_ host: String, _ port: UInt16) throws(SystemError) -> SharedDescriptor {
    let isSix = host.utf8.contains(UInt8(ascii: ":"))
    let action = "listening on \(isSix ? "[\(host)]" : host):\(port)"
    let number = socket(isSix ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if number < 0 { throw SystemError(action) }
    let descriptor = Descriptor(owning: number)
    var on: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    let bound: Int32
    if isSix {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      bound = bind(number, &address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      inet_pton(AF_INET, host, &address.sin_addr)
      bound = bind(number, &address)
    }
    if bound < 0 || Glibc.listen(number, backlog) < 0 { throw SystemError(action) }
    return SharedDescriptor(descriptor)
  }

  private static func unix(_ path: String) throws(SystemError) -> SharedDescriptor {
    let action = "listening on unix:\(path)"
    let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if number < 0 { throw SystemError(action) }
    let descriptor = Descriptor(owning: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    if bind(number, &address) < 0 {
      if errno == ENOENT || errno == ENOTDIR {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        throw SystemError("\(action), in the folder \(end == path.startIndex ? "/" : String(path[..<end]))")
      }
      if errno != EADDRINUSE { throw SystemError(action) }
      guard connect(number, &address) < 0, errno == ECONNREFUSED else {
        throw SystemError(action, code: EADDRINUSE)
      }
      // What a process left that has ended; and nothing else that may lie there.
      var facts = stat()
      guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFSOCK else {
        throw SystemError(action, code: EEXIST)
      }
      unlink(path)
      if bind(number, &address) < 0 { throw SystemError(action) }
    }
    // As open as a port of this machine: who may enter its folder may connect, such as a proxy, which is another user.
    if chmod(path, 0o666) < 0 || Glibc.listen(number, backlog) < 0 { throw SystemError(action) }
    return SharedDescriptor(descriptor)
  }

  private static func inherited() throws(SystemError) -> [SharedDescriptor] {
    func number(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
    guard number("LISTEN_PID") == getpid(), let count = number("LISTEN_FDS"), count > 0 else {
      throw SystemError("taking over a socket from systemd, which has handed none over", code: ENOENT)
    }
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    return (3..<3 + count).map { descriptor in
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return SharedDescriptor(Descriptor(owning: descriptor))
    }
  }

  private static func bind<Address>(_ socket: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(socket, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  private static func connect<Address>(_ socket: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }
}
