import Platform

/// How much clients may have of a server, and how long they may take. Times are in milliseconds.
public struct ServerLimits: Sendable {
  public var request = RequestLimits()
  /// Connections at once.
  public var connections = 10_000
  /// Connections at once from one address, or one /64 of IPv6; those of a Unix socket count for none.
  public var perAddress = 200
  /// Of these addresses any number of connections may come: proxies, behind each of which are many clients.
  public var proxies: [AddressRange] = []
  /// From the first byte of a head to its last: a client that trickles holds no place for long.
  public var headTime: UInt64 = 10_000
  /// Between two requests.
  public var idleTime: UInt64 = 60_000
  /// A body must bring ``bodyRate`` bytes a second, seen over this time.
  public var bodyTime: UInt64 = 10_000
  public var bodyRate = 1024
  /// Without the client having taken half of ``unsent`` bytes of an answer.
  public var writeTime: UInt64 = 30_000
  /// Bytes of an answer that the kernel keeps for a client that has no room for them.
  public var unsent: Int32 = 32 << 10
  /// What is read and dropped after an answer that came before the body: a client that still sends would miss the answer if the
  /// connection were closed (RFC 9112, 9.6). A proxy such as nginx may send all that it has of a body before it reads.
  public var lingerBytes = 256 << 20
  public var lingerTime: UInt64 = 30_000
  /// The client has closed by then, or sends no more.
  public var lingerSilence: UInt64 = 5000
  /// Bytes of a stream that its reader has not taken; more: the connection is closed.
  public var streamBacklog = 256 << 10

  public init() {}
}
