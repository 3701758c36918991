/// Takes the body of a request, piece by piece.
public protocol BodySink: AnyObject {
  /// - Parameter bytes: valid only during the call.
  /// - Returns: whether more may come at once; else ``Exchange/resumeBody()`` lets it go on.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool
  /// The body is whole.
  func end()
  /// The client has left, or was too slow, or broke a rule: no more will come.
  func cut()
}

/// Decides what becomes of requests.
public protocol RequestHandler: AnyObject {
  /// A head has come. The handler answers now or later; a body is read only once it asks for it.
  func begin(_ exchange: Exchange)
  /// The answer is written, or the connection was lost before.
  func ended(_ exchange: Exchange)
}

/// A request and its answer.
public final class Exchange {
  /// Of a stream under way, without its fields.
  public internal(set) var head: RequestHead
  public let peer: Peer
  /// Of the answer; 0: there is none yet.
  public internal(set) var status = 0
  /// Bytes of the answer that the kernel took, with the head.
  public internal(set) var sent: Int64 = 0
  /// Bytes of the request's body.
  public internal(set) var received: Int64 = 0
  /// By the monotonic clock, in nanoseconds.
  public let began: UInt64
  /// Whether the client took the whole answer, as far as the kernel tells.
  public internal(set) var isWhole = false
  /// What the handler wants to remember.
  public var context: AnyObject?

  weak var connection: Connection?
  var sink: (any BodySink)?

  init(_ head: RequestHead, _ peer: Peer, began: UInt64, _ connection: Connection) {
    (self.head, self.peer, self.began, self.connection) = (head, peer, began, connection)
  }

  /// Whether the client is still there.
  public var isOpen: Bool { connection != nil }

  /// Reads the body, after 100 (Continue) where the client waits for that. Once, and only before the answer; not of a request
  /// without a body.
  public func readBody(into sink: any BodySink) { connection?.readBody(of: self, into: sink) }

  /// The sink takes more again.
  public func resumeBody() { connection?.resumeBody(of: self) }

  /// Tells the client something before the answer, such as where it may go on (RFC 9110, 15.2).
  public func inform(_ status: Int, _ fields: [(name: String, value: String)]) {
    connection?.inform(self, Response(status, fields))
  }

  /// Answers; once. Before the end of the body, the connection is closed after the answer.
  public func answer(_ response: Response) { connection?.answer(self, response) }

  /// Sends more of a stream.
  ///
  /// - Returns: whether the connection still stands. It is closed where the client takes too little.
  @discardableResult
  public func send(_ bytes: [UInt8]) -> Bool { connection?.send(bytes, of: self) ?? false }

  /// Ends a stream.
  public func finish() { connection?.finish(self) }

  /// Closes the connection without more.
  public func abort() { connection?.close() }
}

/// Where a connection comes from.
public struct Peer: Sendable, Equatable {
  /// An address without port; empty: a Unix socket of this machine.
  public let address: String
  public let port: UInt16

  public init(address: String, port: UInt16) { (self.address, self.port) = (address, port) }
}
