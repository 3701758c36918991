import CPlatform
import Glibc

/// A small file with a secret: read only where its owner and mode keep others away.
public struct ProtectedFile: Sendable {
  /// Who may own the file, and who may read it.
  public enum Rule: Sendable {
    /// A key: owned by this user or root, without any right for others.
    case key
    /// A credential of systemd, which may grant it by an access control list. Its mask shows as the group's right to read.
    case credential
    /// Any other secret: those who are neither owner nor in its group may do nothing with it.
    case secret

    fileprivate var forbidden: mode_t {
      switch self {
      case .key: 0o077
      case .credential: 0o037
      case .secret: 0o007
      }
    }
    fileprivate var mode: String { self == .secret ? "0640" : "0600" }
  }

  public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    public var path: String
    /// What is wrong, as the end of a sentence that begins with the path.
    public var reason: String
    /// What to do next.
    public var remedy: String

    public init(path: String, reason: String, remedy: String) {
      (self.path, self.reason, self.remedy) = (path, reason, remedy)
    }

    public var description: String { "\(path): \(reason); \(remedy)" }
  }

  /// The bytes of the file. The caller wipes them.
  ///
  /// - Parameter limit: a longer file is refused.
  public static func read(_ path: String, limit: Int, rule: Rule) throws(Problem) -> [UInt8] {
    let content: Result<[UInt8], Problem>
    do throws(SystemError) {
      content = try self.content(path, limit, rule)
    } catch {
      throw problem(path, error)
    }
    return try content.get()
  }

  private static func content(
    _ path: String, _ limit: Int, _ rule: Rule
  ) throws(SystemError) -> Result<[UInt8], Problem> {
    // Not blocking, and no terminal: it may be anything until it is looked at.
    let descriptor = try Descriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    let number = descriptor.number
    var facts = stat()
    if fstat(number, &facts) != 0 { throw SystemError("asking \(path)") }
    if let complaint = complaint(path, number, facts, limit, rule) { return .failure(complaint) }
    var failure: SystemError?
    // No second buffer, which would keep what was read.
    var bytes = [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
      count = 0
      while count <= limit {
        let got = Glibc.read(number, buffer.baseAddress.unsafelyUnwrapped + count, limit + 1 - count)
        if got < 0 && errno == EINTR { continue }
        if got < 0 { failure = SystemError("reading \(path)") }
        if got <= 0 { return }
        count += got
      }
    }
    if failure == nil && bytes.count <= limit { return .success(bytes) }
    wipe(&bytes)
    if let failure { throw failure }
    return .failure(
      Problem(path: path, reason: "grows while it is read", remedy: "run the command again"))
  }

  /// Why the file may not be read as a secret; `nil`: it may.
  private static func complaint(
    _ path: String, _ number: Int32, _ facts: stat, _ limit: Int, _ rule: Rule
  ) -> Problem? {
    guard sluice_file_type(facts.st_mode) == S_IFREG else {
      return Problem(path: path, reason: "is no regular file", remedy: "name a file that holds the secret")
    }
    if rule != .secret && facts.st_uid != geteuid() && facts.st_uid != 0 {
      return Problem(
        path: path, reason: "belongs to user \(facts.st_uid), who could change it",
        remedy: "run `chown \(geteuid()) \(path)`")
    }
    let mode = facts.st_mode & 0o777
    if mode & rule.forbidden != 0 && !(mode & 0o022 == 0 && isHandedIn(path, number, facts)) {
      let others = rule == .key ? "others than its owner" : "others than its owner and group"
      return Problem(
        path: path, reason: "has mode 0\(octal(mode)), so that \(others) can read or change it",
        remedy: "run `chmod \(rule.mode) \(path)`, and think of a new secret: this one may be known")
    }
    if facts.st_size > limit {
      return Problem(
        path: path, reason: "has \(facts.st_size) bytes, and at most \(limit) are read",
        remedy: "name a file that holds the secret and nothing else")
    }
    return nil
  }

  /// Whether a manager of containers has put a secret there, which it makes readable for every user of the container: on a mount that
  /// is read-only, or in the folder of such secrets.
  private static func isHandedIn(_ path: String, _ number: Int32, _ facts: stat) -> Bool {
    var space = statvfs()
    if fstatvfs(number, &space) == 0, space.f_flag & UInt(ST_RDONLY) != 0 { return true }
    guard facts.st_uid == 0, let resolved = realpath(path, nil) else { return false }
    defer { free(resolved) }
    return String(cString: resolved).hasPrefix("/run/secrets/")
  }

  private static func octal(_ mode: mode_t) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 3 - digits.count)) + digits
  }

  private static func problem(_ path: String, _ error: SystemError) -> Problem {
    let remedy =
      switch error.code {
      case ENOENT, ENOTDIR: "make it, or name another"
      case EACCES, EPERM: "give this user the right to read it, and no other"
      case ELOOP, ENAMETOOLONG: "name it by another path"
      default: "run the command again"
      }
    return Problem(
      path: path, reason: error.reason.lowercasedFirst, remedy: remedy)
  }

  // MARK: Making

  /// Makes a file that only its owner may read, whole and synced with its folder, or not at all. An existing one stays as it is.
  ///
  /// - Returns: false if there was one already.
  public static func make(_ path: String, _ bytes: [UInt8]) throws(SystemError) -> Bool {
    let partial = "\(path).\(Hexadecimal.text(try SystemRandom.bytes(8))).partial"
    let file = try Descriptor.open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    do throws(SystemError) {
      // The umask may have taken the owner's rights.
      if fchmod(file.number, 0o600) != 0 { throw SystemError("restricting \(partial)") }
      var done = 0
      while done < bytes.count {
        let count = bytes.withUnsafeBytes {
          write(file.number, $0.baseAddress.unsafelyUnwrapped + done, $0.count - done)
        }
        if count < 0 && errno == EINTR { continue }
        if count < 0 { throw SystemError("writing \(partial)") }
        done += count
      }
      if fsync(file.number) != 0 { throw SystemError("syncing \(partial)") }
      if sluice_rename_new(AT_FDCWD, partial, AT_FDCWD, path) != 0 {
        if errno != EEXIST { throw SystemError("naming \(path)") }
        unlink(partial)
        return false
      }
    } catch {
      unlink(partial)
      throw error
    }
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let parent = try Descriptor.open(folder, O_RDONLY | O_DIRECTORY)
    if fsync(parent.number) != 0 { throw SystemError("syncing \(folder)") }
    return true
  }

  /// Overwrites bytes, in a way that the compiler does not leave out.
  public static func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { room in
      if let start = room.baseAddress { explicit_bzero(start, room.count) }
    }
  }
}

extension String {
  fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
