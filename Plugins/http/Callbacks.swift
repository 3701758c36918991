// What libcurl calls with what has come.
//
// Top-level functions, because isolation is not checked through C function pointers. libcurl calls them on the thread that
// drives the requests. Returning a smaller count than was passed ends the request.

func receiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ fetch: UnsafeMutableRawPointer?
) -> Int {
  guard let fetch else { return 0 }
  let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return Unmanaged<Fetch>.fromOpaque(fetch).takeUnretainedValue().receive(line: line) ? line.count : 0
}

func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ fetch: UnsafeMutableRawPointer?
) -> Int {
  guard let fetch else { return 0 }
  let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return Unmanaged<Fetch>.fromOpaque(fetch).takeUnretainedValue().receive(body: body)
}
