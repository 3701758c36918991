import CCurl
import Glibc
import StageKit

/// The system's certificate authorities, in memory. Read before the sandbox closes, which may prevent reading
/// them later.
final class Certificates {
  let bytes: UnsafeMutableRawBufferPointer

  /// Debian's path, for a libcurl built without one.
  private static let usualPath = "/etc/ssl/certs/ca-certificates.crt"

  init() throws(Outcome) {
    let path = sluice_curl_certificates_path().map { String(cString: $0) } ?? Self.usualPath
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Self.refusal(path, String(cString: strerror(errno))) }
    defer { close(file) }
    let size = lseek(file, 0, SEEK_END)
    guard size > 0 else { throw Self.refusal(path, "it is empty") }
    bytes = .allocate(byteCount: Int(size), alignment: 16)
    var done = 0
    while done < bytes.count {
      let count = pread(file, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(done))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Self.refusal(path, "it does not read to its end") }
      done += count
    }
  }

  deinit {
    bytes.deallocate()
  }

  private static func refusal(_ path: String, _ reason: String) -> Outcome {
    .fail(
      "invalid-options",
      "url: https needs the system's certificates, and \(path) cannot be read: \(reason); install ca-certificates"
    )
  }
}
