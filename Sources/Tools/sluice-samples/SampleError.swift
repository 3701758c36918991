import Glibc

/// Why a sample could not be made: what was tried, the reason, and what to do next.
struct SampleError: Error, CustomStringConvertible {
  let attempt: String
  let reason: String
  let remedy: String

  var description: String { "\(attempt): \(reason); \(remedy)" }
}

extension SampleError {
  /// A system call failed; `code` is its `errno`.
  init(_ attempt: String, code: Int32) {
    self.attempt = attempt
    reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    remedy =
      switch code {
      case EACCES, EPERM, EROFS: "name a folder you may write to"
      case EEXIST, EISDIR, ENOTDIR: "move what is in the way, or name another folder"
      case ENOSPC, EDQUOT: "free about 12 MiB and run it again"
      default: "name another folder, or look at the file system"
      }
  }

  /// A digest that OpenSSL does not offer, as in its FIPS mode.
  init(unavailableDigest name: String) {
    attempt = "cannot encrypt a PDF"
    reason = "OpenSSL refuses to compute \(name)"
    remedy = "run it with OpenSSL's default provider"
  }
}
