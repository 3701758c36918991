/// How much of a request is read before it is refused.
public struct RequestLimits: Sendable {
  /// Bytes of the request line; more: 414.
  public var requestLine = 8 << 10
  /// Bytes of request line and header together; more: 431.
  public var head = 32 << 10
  /// Fields of the header; more: 431.
  public var fields = 100
  /// Bytes of a chunk's extensions, which have no use.
  public var chunkExtension = 256
  /// Bytes of the fields after the last chunk, which are read and dropped.
  public var trailers = 4 << 10

  public init() {}
}
