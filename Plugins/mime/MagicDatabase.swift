import CMagic
import CMagicFilter
import Glibc
import StageKit

/// libmagic with its database loaded, used as `file --mime-type` uses it.
final class MagicDatabase {
  /// libmagic's version, such as `5.44`; the database comes with it.
  let version: String

  private let cookie: magic_t
  private var filter: sluice_magic_filter

  init() throws(Outcome) {
    // libmagic prints dates through localtime(3), which looks at /etc/localtime each time unless TZ is set
    // (tzset(3)). Dates never reach a media type, so any zone will do.
    setenv("TZ", "UTC0", 0)
    tzset()
    // MAGIC_ERROR: system errors are reported as errors, not as text in place of a media type (libmagic(3)).
    guard let cookie = magic_open(MAGIC_MIME_TYPE | MAGIC_ERROR) else {
      throw .fail("magic-unavailable", "libmagic does not start: \(String(cString: strerror(errno)))")
    }
    filter = Self.filter(cookie)
    guard Self.load(cookie, filter) else {
      let reason = Self.reason(cookie)
      magic_close(cookie)
      sluice_magic_filter_close(&filter)
      throw .fail("magic-unavailable", "libmagic's database does not load: \(reason)")
    }
    self.cookie = cookie
    let number = magic_version()
    version = "\(number / 100).\(number % 100 < 10 ? "0" : "")\(number % 100)"
  }

  /// The database with its tests for texts to switch off, so that a text takes a third of the time. Empty where libmagic is to
  /// load it itself: it has entries of the operator's that are not compiled, or a form that is not known.
  private static func filter(_ cookie: magic_t) -> sluice_magic_filter {
    var (longestMatch, text, filter) = (0, 0, sluice_magic_filter())
    let compiled = paths.filter { access(Self.compiled($0), F_OK) == 0 }
    guard compiled.count == 1, paths.allSatisfy({ compiled.contains($0) || hasNoEntries($0) }),
      magic_getparam(cookie, MAGIC_PARAM_REGEX_MAX, &longestMatch) == 0,
      magic_getparam(cookie, MAGIC_PARAM_ENCODING_MAX, &text) == 0, text <= sluice_magic_filter_reach
    else { return filter }
    sluice_magic_filter_open(&filter, Self.compiled(compiled[0]), longestMatch)
    return filter
  }

  private static func load(_ cookie: magic_t, _ filter: sluice_magic_filter) -> Bool {
    var (database, size) = (filter.database, filter.size)
    return database == nil
      ? magic_load(cookie, nil) == 0 : magic_load_buffers(cookie, &database, &size, 1) == 0
  }

  /// Where libmagic looks for the database, in this order; not all of it need be there.
  private static var paths: [String] {
    magic_getpath(nil, 0).map { String(cString: $0).split(separator: ":").map(String.init) } ?? []
  }

  private static func compiled(_ path: String) -> String { path.hasSuffix(".mgc") ? path : path + ".mgc" }

  /// As Debian's `/etc/magic`, which says only what it is for.
  private static func hasNoEntries(_ path: String) -> Bool {
    guard access(path, F_OK) == 0 else { return true }
    guard let file = fopen(path, "r") else { return false }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, Int32(line.count), file) != nil {
      if line[0] != CChar(UInt8(ascii: "#")), line[0] != CChar(UInt8(ascii: "\n")) { return false }
    }
    return ferror(file) == 0
  }

  /// The database files with size and modification time, to detect another database. If there is also a
  /// compiled file of that name, libmagic uses it (libmagic(3), magic_getpath).
  static var files: String {
    let files = paths.flatMap { [$0, compiled($0)] }
    return files.compactMap { file in
      var facts = stat()
      guard stat(file, &facts) == 0 else { return nil }
      return "\(file) \(facts.st_size) \(facts.st_ino) \(facts.st_mtim.tv_sec).\(facts.st_mtim.tv_nsec)"
    }.joined(separator: ", ")
  }

  deinit {
    magic_close(cookie)
    sluice_magic_filter_close(&filter)
  }

  /// The media type of the content. Throws a retry if the system cannot read, a failure if libmagic has no
  /// answer.
  ///
  /// Uses the descriptor and not memory: libmagic follows the tables of compound documents (Word, Outlook)
  /// and ELF wherever they lie, and permission bits distinguish a program from a library. libmagic restores
  /// the offset.
  func mediaType(of attachment: Attachment) throws(Outcome) -> String {
    sluice_magic_filter_set(&filter, attachment.content)
    return try check(magic_descriptor(cookie, attachment.content))
  }

  /// The media type of a text behind its byte order mark, which hides from libmagic what it looks for at the beginning.
  /// To be called after ``mediaType(of:)``.
  func mediaType(ofMarkedText attachment: Attachment) throws(Outcome) -> String {
    let bytes = try attachment.read(Self.reach, at: 3)
    return try check(bytes.withUnsafeBytes { magic_buffer(cookie, $0.baseAddress, $0.count) })
  }

  /// As much as libmagic reads of a file by default, in bytes (magic_setparam(3), MAGIC_PARAM_BYTES_MAX).
  private static let reach = 1 << 20

  private func check(_ answer: UnsafePointer<CChar>?) throws(Outcome) -> String {
    guard let answer else {
      let reason = Self.reason(cookie)
      throw magic_errno(cookie) == 0 ? .fail("magic-failed", reason) : .retry("unreadable", reason)
    }
    let mediaType = String(cString: answer)
    // `file` takes the name for an empty file from the file system; libmagic does not, if it gets a
    // descriptor.
    if mediaType == "application/x-empty" { return "inode/x-empty" }
    guard isMediaType(mediaType) else {
      throw .fail(
        "magic-failed", "libmagic answered \"\(plainText(mediaType, limit: 200))\", which is no media type")
    }
    return mediaType
  }

  private static func reason(_ cookie: magic_t) -> String {
    magic_error(cookie).map { plainText(String(cString: $0), limit: 500) } ?? "no reason given"
  }
}
