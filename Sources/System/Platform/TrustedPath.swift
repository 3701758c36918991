import CPlatform
import Glibc

/// Whether a file may decide what this process runs: a pipeline, or a plugin.
///
/// Nobody but this user and root may be able to change it, or to put another in its place: they own the file and each folder on
/// the way to it, links included, and nobody else may write there. In a folder with the sticky bit (`/tmp`) others may write,
/// for they can neither remove nor rename what they do not own (unlink(2)). A group of which the owner is the only member is
/// nobody else.
///
/// `$SLUICE_TRUST` names files and folders that are trusted all the same, separated by colons, with all that lies below.
public enum TrustedPath {
  public struct Problem: Error, Sendable, CustomStringConvertible {
    /// The file or the folder that others own or may write.
    public var place: String
    /// What is wrong with it, as the end of a sentence that begins with the place.
    public var reason: String

    public var description: String { "\(place) \(reason)" }
  }

  /// The variable with the paths that are trusted.
  public static let variable = "SLUICE_TRUST"

  /// Trusts a path for the rest of this process, and for those that it starts.
  public static func trust(_ path: String) {
    setenv(variable, (trusted + [path]).joined(separator: ":"), 1)
  }

  /// Why a file may not decide what is run; `nil`: it may, or there is none.
  public static func problem(with path: String) -> Problem? {
    // Of the kernel: `<(…)` of a shell is a pipe below /dev/fd.
    if path.hasPrefix("/dev/") || path.hasPrefix("/proc/") { return nil }
    var walk = PathWalk(path)
    var found: Problem?
    while let step = walk.next() {
      if found == nil { found = problem(with: step) }
    }
    guard let found, let end = walk.end, !isTrusted(end) else { return nil }
    return found
  }

  private static var trusted: [String] {
    guard let text = getenv(variable) else { return [] }
    return String(cString: text).split(separator: ":").map(String.init)
  }

  private static func isTrusted(_ path: String) -> Bool {
    trusted.contains { trusted in
      guard let resolved = realpath(trusted, nil) else { return false }
      defer { free(resolved) }
      let folder = String(cString: resolved)
      return folder == "/" || path.utf8.elementsEqual(folder.utf8)
        || path.utf8.starts(with: (folder + "/").utf8)
    }
  }

  private static func problem(with step: PathWalk.Step) -> Problem? {
    let facts = step.facts
    if !isOwn(facts.st_uid) {
      return Problem(place: step.path, reason: "belongs to \(name(of: facts.st_uid)), who could change it")
    }
    let mayGroup = facts.st_mode & 0o020 != 0 && !isPrivate(facts.st_gid, of: facts.st_uid)
    guard mayGroup || facts.st_mode & 0o002 != 0 else { return nil }
    // A foreign file there is reported by itself; a link is not looked at again.
    if facts.st_mode & UInt32(S_ISVTX) != 0, let child = step.child,
      isOwn(child.st_uid) || sluice_file_type(child.st_mode) != S_IFLNK
    {
      return nil
    }
    let mode = String(facts.st_mode & 0o7777, radix: 8)
    return Problem(place: step.path, reason: "may be written by others (mode 0\(mode))")
  }

  private static func isOwn(_ user: uid_t) -> Bool {
    if user == 0 || user == geteuid() { return true }
    // Who calls sudo(8) in a folder of his own means it.
    return geteuid() == 0 && getenv("SUDO_UID").flatMap { uid_t(String(cString: $0)) } == user
  }

  /// Whether a group is the user's own (as Debian's adduser(8) makes one for each user).
  private static func isPrivate(_ group: gid_t, of user: uid_t) -> Bool {
    guard group == user || group == 0 else { return false }
    guard let entry = getgrgid(group), var member = entry.pointee.gr_mem else { return group == user }
    let owner = getpwuid(user).map { String(cString: $0.pointee.pw_name) }
    while let name = member.pointee {
      if String(cString: name) != owner { return false }
      member += 1
    }
    return true
  }

  private static func name(of user: uid_t) -> String {
    getpwuid(user).map { "\(String(cString: $0.pointee.pw_name)) (user \(user))" } ?? "user \(user)"
  }
}

/// The folders on the way to a path and the file at its end, in the order in which the kernel meets them (path_resolution(7)).
/// A link is looked at as the child of its folder: nobody else can replace it where nobody else may write.
private struct PathWalk {
  struct Step {
    var path: String
    var facts: stat
    /// What is looked up in it next; `nil`: it is the end, or that is not there.
    var child: stat?
  }

  /// The path without links, once the walk is over; `nil`: it leads nowhere.
  private(set) var end: String?
  private var done: [Substring] = []
  private var rest: [Substring]
  private var facts: stat?
  private var links = 0

  /// The most symbolic links followed in one path: the kernel's limit.
  private static let linkLimit = 40

  init(_ path: String) {
    var path = path
    if !path.hasPrefix("/") {
      let here = getcwd(nil, 0)
      defer { free(here) }
      path = (here.map { String(cString: $0) } ?? "") + "/" + path
    }
    rest = path.split(separator: "/").reversed()
    facts = Self.look("/")
  }

  private static func look(_ path: String) -> stat? {
    var facts = stat()
    return lstat(path, &facts) == 0 ? facts : nil
  }

  private var here: String { "/" + done.joined(separator: "/") }

  mutating func next() -> Step? {
    guard let facts else { return nil }
    let here = here
    while rest.last == "." { rest.removeLast() }
    guard let part = rest.popLast() else {
      (self.facts, end) = (nil, here)
      return Step(path: here, facts: facts, child: nil)
    }
    if part == ".." {
      if !done.isEmpty { done.removeLast() }
      self.facts = Self.look(self.here)
      return Step(path: here, facts: facts, child: self.facts)
    }
    done.append(part)
    let child = Self.look(self.here)
    if let child, sluice_file_type(child.st_mode) == S_IFLNK { follow() } else { self.facts = child }
    return Step(path: here, facts: facts, child: child)
  }

  /// Goes on where the link leads that was met last.
  private mutating func follow() {
    links += 1
    var room = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(here, &room, room.count)
    guard count > 0, links <= Self.linkLimit else {
      facts = nil
      return
    }
    let target = String(decoding: room[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    done.removeLast()
    if target.hasPrefix("/") { done = [] }
    rest += target.split(separator: "/").reversed()
    facts = Self.look(here)
  }
}
