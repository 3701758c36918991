import CLLHTTP

/// Reads the requests of one connection, one after the other.
///
/// llhttp reads the bytes. This class adds the rules that llhttp leaves to its callers, and refuses all that two servers could
/// understand in two ways: each of them closes the connection. Call ``takeHead(_:)`` until there is a head, then
/// ``takeBody(_:_:)`` until the body is whole, and so on. After a fault nothing more may be read.
///
/// Used by one thread.
public final class RequestParser {
  private let parser: UnsafeMutablePointer<llhttp_t>
  private let settings: UnsafeMutablePointer<llhttp_settings_t>
  private let limits: RequestLimits
  private var buffer: HeadBuffer
  /// Of the body with a length: what has not come.
  private var remaining: Int64 = 0
  private var isChunked = false

  // What llhttp's callbacks tell.
  private var start: UnsafePointer<CChar>?
  private var target: Range<Int>?
  private var names: [Range<Int>] = []
  private var values: [Range<Int>] = []
  private var isHeadDone = false
  private var extensionBytes = 0
  /// Of the body in chunks, once its last chunk has come.
  private var trailer: TrailerReader?
  private var pieces: [UnsafeRawBufferPointer] = []

  public init(_ limits: RequestLimits = RequestLimits()) {
    self.limits = limits
    buffer = HeadBuffer(limits)
    parser = .allocate(capacity: 1)
    settings = .allocate(capacity: 1)
    llhttp_settings_init(settings)
    installCallbacks()
    begin()
  }

  deinit {
    parser.deallocate()
    settings.deallocate()
  }

  /// Whether nothing of a request has come: the connection may be closed without an answer.
  public var isIdle: Bool { buffer.isEmpty && remaining == 0 && !isChunked }

  /// Bytes of the body that are still to come; 0: there is none, or its length is not known.
  public var bodyLeft: Int64 { remaining }

  /// Takes bytes of a head.
  ///
  /// - Returns: how many it took, and the head once it is whole; what follows is its body.
  /// - Throws: a fault with the status of the answer.
  public func takeHead(
    _ bytes: UnsafeRawBufferPointer
  ) throws(RequestFault) -> (taken: Int, head: RequestHead?) {
    let (taken, isWhole) = try buffer.take(bytes)
    if !isWhole { return (taken, nil) }
    let raw = buffer.bytes
    buffer = HeadBuffer(limits)
    begin()
    let code = raw.withUnsafeBytes { execute($0) }
    // A message without a body ends at once, and the callback for that pauses the parser.
    guard isHeadDone, code == HPE_OK || code == HPE_PAUSED else { throw Self.fault(code, raw) }
    let target = target ?? 0..<0
    var head = RequestHead(
      raw: raw, fields: zip(names, values).map { RequestHead.Field(name: $0, value: Self.trimmed($1, raw)) },
      method: String(cString: llhttp_method_name(llhttp_method_t(UInt32(parser.pointee.method)))),
      target: String(decoding: raw[target], as: UTF8.self),
      minorVersion: Int(parser.pointee.http_minor))
    try HeadRules.apply(to: &head, target: target, majorVersion: Int(parser.pointee.http_major), limits)
    (names, values) = ([], [])
    head.keepsAlive = llhttp_should_keep_alive(parser) == 1
    switch head.framing {
    case .none: break
    case .length(let count): remaining = count
    case .chunked: isChunked = true
    }
    return (taken, head)
  }

  /// Takes bytes of the body.
  ///
  /// - Parameter piece: called with what of them is content; valid only during the call.
  /// - Returns: how many bytes it took, and whether the body is whole.
  public func takeBody(
    _ bytes: UnsafeRawBufferPointer, _ piece: (UnsafeRawBufferPointer) -> Void
  ) throws(RequestFault) -> (taken: Int, isWhole: Bool) {
    if !isChunked {
      let count = Int(min(remaining, Int64(bytes.count)))
      if count > 0 { piece(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
      remaining -= Int64(count)
      return (count, remaining == 0)
    }
    if bytes.isEmpty { return (0, false) }
    let taken = trailer == nil ? try takeChunks(bytes, piece) : 0
    guard var trailer else { return (taken, false) }
    let (more, isWhole) = try trailer.take(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
    self.trailer = isWhole ? nil : trailer
    isChunked = !isWhole
    return (taken + more, isWhole)
  }

  /// Takes chunks, up to the line of the last one and with it.
  ///
  /// - Returns: how many bytes those were.
  private func takeChunks(
    _ bytes: UnsafeRawBufferPointer, _ piece: (UnsafeRawBufferPointer) -> Void
  ) throws(RequestFault) -> Int {
    pieces.removeAll(keepingCapacity: true)
    let code = execute(bytes)
    pieces.forEach(piece)
    guard code == HPE_OK || trailer != nil && code == HPE_PAUSED else {
      throw extensionBytes > limits.chunkExtension
        ? RequestFault(400, "the extensions of a chunk have more than \(limits.chunkExtension) bytes")
        : Self.fault(code, [])
    }
    guard trailer != nil, let end = llhttp_get_error_pos(parser), let start = bytes.baseAddress else {
      return bytes.count
    }
    return UnsafeRawPointer(end) - start
  }

  private func begin() {
    llhttp_init(parser, HTTP_REQUEST, settings)
    parser.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    (target, names, values) = (nil, [], [])
    (isHeadDone, extensionBytes, trailer) = (false, 0, nil)
  }

  private func execute(_ bytes: UnsafeRawBufferPointer) -> llhttp_errno_t {
    start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    defer { start = nil }
    return llhttp_execute(parser, start, bytes.count)
  }

  /// Without the white space at its end, which is not part of a value (RFC 9112, 5.1).
  private static func trimmed(_ value: Range<Int>, _ raw: [UInt8]) -> Range<Int> {
    var end = value.upperBound
    while end > value.lowerBound, raw[end - 1] == UInt8(ascii: " ") || raw[end - 1] == UInt8(ascii: "\t") {
      end -= 1
    }
    return value.lowerBound..<end
  }

  private static func fault(_ code: llhttp_errno_t, _ head: [UInt8]) -> RequestFault {
    switch code {
    case HPE_INVALID_METHOD:
      // A method that a server does not know is another thing than bytes that are no request.
      let word = head.prefix { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") }
      return !word.isEmpty && head.dropFirst(word.count).first == UInt8(ascii: " ")
        ? RequestFault(501, "the method is not known here")
        : RequestFault(400, "this is no request of HTTP/1.1")
    case HPE_INVALID_VERSION, HPE_PAUSED_H2_UPGRADE:
      return RequestFault(505, "HTTP/1.1 and HTTP/1.0 are spoken here")
    case HPE_INVALID_CONTENT_LENGTH, HPE_UNEXPECTED_CONTENT_LENGTH:
      return RequestFault(400, "Content-Length is not one number, or stands beside Transfer-Encoding")
    case HPE_INVALID_TRANSFER_ENCODING:
      return RequestFault(501, "Transfer-Encoding is another than chunked")
    case HPE_INVALID_CHUNK_SIZE: return RequestFault(400, "the size of a chunk is no number")
    case HPE_INVALID_HEADER_TOKEN: return RequestFault(400, "a field of the header is none")
    case HPE_INVALID_URL: return RequestFault(400, "the target of the request is none")
    default: return RequestFault(400, "this is no request of HTTP/1.1")
    }
  }
}

// MARK: - What llhttp calls

extension RequestParser {
  private func installCallbacks() {
    settings.pointee.on_url = { parser, at, count in
      let this = RequestParser.of(parser)
      this.target = this.range(at, count)
      return 0
    }
    settings.pointee.on_header_field = { RequestParser.of($0).takeName($1, $2) }
    settings.pointee.on_header_value = { RequestParser.of($0).takeValue($1, $2) }
    settings.pointee.on_header_value_complete = { RequestParser.of($0).takeValue(nil, 0) }
    settings.pointee.on_headers_complete = { parser in
      RequestParser.of(parser).isHeadDone = true
      // Nothing else is spoken here: `Upgrade` is not heeded (RFC 9110, 7.8).
      parser?.pointee.upgrade = 0
      return 0
    }
    settings.pointee.on_chunk_extension_name = { RequestParser.of($0).takeExtension($2) }
    settings.pointee.on_chunk_extension_value = { RequestParser.of($0).takeExtension($2) }
    settings.pointee.on_chunk_header = { parser in
      let this = RequestParser.of(parser)
      this.extensionBytes = 0
      if parser?.pointee.content_length != 0 { return 0 }
      // What follows the last chunk, llhttp reads less strictly than a header.
      this.trailer = TrailerReader(limit: this.limits.trailers)
      return CInt(HPE_PAUSED.rawValue)
    }
    settings.pointee.on_body = { parser, at, count in
      RequestParser.of(parser).pieces.append(UnsafeRawBufferPointer(start: at, count: count))
      return 0
    }
    settings.pointee.on_message_complete = { _ in CInt(HPE_PAUSED.rawValue) }
  }

  /// `begin` has put it there, and llhttp calls with its own parser.
  private static func of(_ parser: UnsafeMutablePointer<llhttp_t>?) -> RequestParser {
    Unmanaged<RequestParser>.fromOpaque(parser.unsafelyUnwrapped.pointee.data).takeUnretainedValue()
  }

  /// Where bytes of the head stand in it.
  private func range(_ at: UnsafePointer<CChar>?, _ count: Int) -> Range<Int> {
    guard let at, let start else { return 0..<0 }
    return at - start..<at - start + count
  }

  private func takeName(_ at: UnsafePointer<CChar>?, _ count: Int) -> CInt {
    names.append(range(at, count))
    return 0
  }

  /// A value, and its end: one without a byte may have an end alone.
  private func takeValue(_ at: UnsafePointer<CChar>?, _ count: Int) -> CInt {
    if values.count < names.count { values.append(range(at, count)) }
    return 0
  }

  private func takeExtension(_ count: Int) -> CInt {
    extensionBytes += count
    return extensionBytes > limits.chunkExtension ? -1 : 0
  }
}
