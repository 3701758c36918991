import CMagic
import CMagicPatterns
import Glibc
import StageKit

/// libmagic with its database loaded, used as `file --mime-type` uses it.
final class MagicDatabase {
  /// libmagic's version, such as `5.44`; the database comes with it.
  let version: String

  private let cookie: magic_t

  init() throws(Outcome) {
    // libmagic prints dates through localtime(3), which looks at /etc/localtime each time unless TZ is set
    // (tzset(3)). Dates never reach a media type, so any zone will do.
    setenv("TZ", "UTC0", 0)
    tzset()
    // Where it cannot be, libmagic is as slow as without.
    _ = sluice_magic_patterns()
    // MAGIC_ERROR: system errors are reported as errors, not as text in place of a media type (libmagic(3)).
    guard let cookie = magic_open(MAGIC_MIME_TYPE | MAGIC_ERROR) else {
      throw .fail("magic-unavailable", "libmagic does not start: \(String(cString: strerror(errno)))")
    }
    guard magic_load(cookie, nil) == 0 else {
      let reason = Self.reason(cookie)
      magic_close(cookie)
      throw .fail("magic-unavailable", "libmagic's database does not load: \(reason)")
    }
    self.cookie = cookie
    let number = magic_version()
    version = "\(number / 100).\(number % 100 < 10 ? "0" : "")\(number % 100)"
  }

  /// The database files with size and modification time, to detect another database. If there is also a
  /// compiled file of that name, libmagic uses it (libmagic(3), magic_getpath).
  static var files: String {
    let paths = magic_getpath(nil, 0).map { String(cString: $0) } ?? ""
    let files = paths.split(separator: ":").flatMap { [String($0), "\($0).mgc"] }
    return files.compactMap { file in
      var facts = stat()
      guard stat(file, &facts) == 0 else { return nil }
      return "\(file) \(facts.st_size) \(facts.st_ino) \(facts.st_mtim.tv_sec).\(facts.st_mtim.tv_nsec)"
    }.joined(separator: ", ")
  }

  deinit {
    magic_close(cookie)
  }

  /// The media type of the content. Throws a retry if the system cannot read, a failure if libmagic has no
  /// answer.
  ///
  /// Uses the descriptor and not memory: libmagic follows the tables of compound documents (Word, Outlook)
  /// and ELF wherever they lie, and permission bits distinguish a program from a library. libmagic restores
  /// the offset.
  func mediaType(of attachment: Attachment) throws(Outcome) -> String {
    guard let answer = magic_descriptor(cookie, attachment.content) else {
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
