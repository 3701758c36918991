import CCurl
import CTLS
import Glibc
import StageKit

/// The system's certificate authorities, read before the sandbox closes, which may prevent reading them later. All connections
/// share them: of a copy of its own each would take more than a megabyte. They are parsed for the first connection that needs them,
/// since that takes 40 ms. One thread uses them.
public final class Certificates {
  /// As they were read; empty once they are parsed.
  private var text: [UInt8]
  private var store: OpaquePointer?

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
    var text = [UInt8](repeating: 0, count: Int(size))
    let isWhole = text.withUnsafeMutableBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = pread(file, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(done))
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return false }
        done += count
      }
      return true
    }
    guard isWhole else { throw Self.refusal(path, "it does not read to its end") }
    let beginning = Array("-----BEGIN".utf8)
    guard text.indices.contains(where: { text[$0...].starts(with: beginning) }) else {
      throw Self.refusal(path, "it holds no certificate")
    }
    self.text = text
  }

  deinit {
    X509_STORE_free(store)
  }

  /// Parsed; `nil`: none of them is a certificate.
  fileprivate var parsed: OpaquePointer? {
    if !text.isEmpty {
      let count = text.withUnsafeBytes {
        sluice_tls_read_store($0.baseAddress, Int32(clamping: $0.count), &store)
      }
      if count <= 0 {
        X509_STORE_free(store)
        store = nil
      }
      text = []
    }
    return store
  }

  /// Has the connections of a handle trust these and no others. The object must live as long as the handle.
  public func install(on handle: UnsafeMutableRawPointer) -> [CURLcode] {
    [
      // Otherwise libcurl reads files of its own for each connection.
      sluice_curl_set_text(handle, CURLOPT_CAINFO, nil),
      sluice_curl_set_text(handle, CURLOPT_CAPATH, nil),
      sluice_curl_set_pointer(
        handle, CURLOPT_SSL_CTX_DATA, UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())),
      sluice_curl_on_tls(handle, trust),
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
private func trust(
  _ handle: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?
) -> CURLcode {
  guard let context, let data,
    let store = Unmanaged<Certificates>.fromOpaque(data).takeUnretainedValue().parsed
  else { return CURLE_SSL_CERTPROBLEM }
  sluice_tls_trust(context, store)
  return CURLE_OK
}
