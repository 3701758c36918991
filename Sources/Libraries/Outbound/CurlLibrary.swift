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
    _ = utf8
  }

  /// In the locale of a program that sets none, libcurl takes no letters beyond ASCII. Read from a file, and never freed.
  nonisolated(unsafe) private static let utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

  /// The host of a URL in its `xn--` form (UTS 46, by libidn2); `nil`: it has none.
  static func asciiHost(of url: OpaquePointer) -> String? {
    let before = uselocale(utf8)
    defer { uselocale(before) }
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, CURLUPART_HOST, &text, UInt32(CURLU_PUNYCODE)) == CURLUE_OK, let text else {
      return nil
    }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
