import CCurl

/// libcurl's callbacks during a request: may it go on reading.
///
/// Keeps nothing of an answer; libcurl keeps the status.
final class Reception {
  /// The most that is read of the headers and of the body, in bytes.
  private static let limit = 64 << 10

  private var headerBytes = 0
  private var bodyBytes = 0

  func startAfresh() {
    headerBytes = 0
    bodyBytes = 0
  }

  var hasLongHeaders: Bool { headerBytes > Self.limit }
  var hasLongBody: Bool { bodyBytes > Self.limit }

  /// Sets the callbacks, with this object as context; it must live as long as the handle.
  func install(on handle: UnsafeMutableRawPointer) -> [CURLcode] {
    let me = Unmanaged.passUnretained(self).toOpaque()
    return [
      sluice_curl_set_pointer(handle, CURLOPT_HEADERDATA, me),
      sluice_curl_on_receive(handle, CURLOPT_HEADERFUNCTION, receiveHeader),
      sluice_curl_set_pointer(handle, CURLOPT_WRITEDATA, me),
      sluice_curl_on_receive(handle, CURLOPT_WRITEFUNCTION, receiveBody),
    ]
  }

  fileprivate func mayReadHeader(_ count: Int) -> Bool {
    headerBytes += count
    return !hasLongHeaders
  }

  fileprivate func mayReadBody(_ count: Int) -> Bool {
    bodyBytes += count
    return !hasLongBody
  }

  fileprivate static func from(_ pointer: UnsafeMutableRawPointer?) -> Reception? {
    pointer.map { Unmanaged<Reception>.fromOpaque($0).takeUnretainedValue() }
  }
}

// Top-level functions, because isolation is not checked through C function pointers. libcurl calls them on
// the thread that drives the requests. Returning a smaller count than was passed ends the request.

private func receiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ reception: UnsafeMutableRawPointer?
) -> Int {
  Reception.from(reception)?.mayReadHeader(size * count) == true ? size * count : 0
}

private func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ reception: UnsafeMutableRawPointer?
) -> Int {
  Reception.from(reception)?.mayReadBody(size * count) == true ? size * count : 0
}
