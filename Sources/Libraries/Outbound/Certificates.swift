import CCurl
import CTLS
import Glibc
import StageKit

/// The system's certificate authorities, read before the sandbox closes, which may prevent reading them later. All connections
/// share them: of a copy of its own each would take more than a megabyte.
public final class Certificates {
  private let store: OpaquePointer

  /// Debian's path, for a libcurl built without one.
  private static let usualPath = "/etc/ssl/certs/ca-certificates.crt"

  /// Throws `invalid-options` where they cannot be read.
  public init() throws(Outcome) {
    let path = sluice_curl_certificates_path().map { String(cString: $0) } ?? Self.usualPath
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Self.refusal(path, String(cString: strerror(errno))) }
    defer { close(file) }
    let size = lseek(file, 0, SEEK_END)
    guard size > 0 else { throw Self.refusal(path, "it is empty") }
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(size), alignment: 16)
    defer { bytes.deallocate() }
    var done = 0
    while done < bytes.count {
      let count = pread(file, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(done))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Self.refusal(path, "it does not read to its end") }
      done += count
    }
    var store: OpaquePointer?
    let count = sluice_tls_read_store(bytes.baseAddress, Int32(clamping: bytes.count), &store)
    guard count > 0, let store else {
      X509_STORE_free(store)
      throw Self.refusal(path, "it holds no certificate")
    }
    self.store = store
  }

  deinit {
    X509_STORE_free(store)
  }

  /// Has the connections of a handle trust these and no others. The object must live as long as the handle.
  public func install(on handle: UnsafeMutableRawPointer) -> [CURLcode] {
    [
      // Otherwise libcurl reads files of its own for each connection.
      sluice_curl_set_text(handle, CURLOPT_CAINFO, nil),
      sluice_curl_set_text(handle, CURLOPT_CAPATH, nil),
      sluice_curl_set_pointer(handle, CURLOPT_SSL_CTX_DATA, UnsafeRawPointer(store)),
      sluice_curl_on_tls(handle, trustStore),
    ]
  }

  private static func refusal(_ path: String, _ reason: String) -> Outcome {
    .fail(
      "invalid-options",
      "https needs the system's certificates, and \(path) cannot be read: \(reason); install ca-certificates"
    )
  }
}

/// A top-level function, because isolation is not checked through C function pointers.
private func trustStore(
  _ handle: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ store: UnsafeMutableRawPointer?
) -> CURLcode {
  guard let context, let store else { return CURLE_SSL_CERTPROBLEM }
  sluice_tls_trust(context, OpaquePointer(store))
  return CURLE_OK
}
