import CCurl
import Glibc
import StageKit

/// libcurl as it is loaded once for the process.
public enum CurlLibrary {
  /// Loads what would otherwise be loaded with the first request: OpenSSL's configuration, and the modules
  /// that /etc/nsswitch.conf names before `files`. The sandbox prevents loading libraries later. Starts no
  /// thread, because a thread started here would stay outside the sandbox. Throws `invalid-options` if libcurl does not start.
  public static func prepareForSandbox() throws(Outcome) {
    let result = curl_global_init(Int(CURL_GLOBAL_ALL))
    guard result == CURLE_OK else {
      throw .fail("invalid-options", "libcurl does not start: \(String(cString: curl_easy_strerror(result)))")
    }
    var addresses: UnsafeMutablePointer<addrinfo>?
    if getaddrinfo("localhost", nil, nil, &addresses) == 0 { freeaddrinfo(addresses) }
  }
}
