import Platform

/// A content that a client wants to have judged. Used by the loop's thread.
public final class ClamdJob {
  public enum Kind {
    /// It comes over the connection.
    case stream
    /// It is that of a file that the client has open, which may be anything.
    case file(SharedDescriptor)
  }

  public let kind: Kind
  /// Of the socket that the client has connected to.
  public let door: UInt32
  /// Whose it is, as far as the kernel tells: a user of this machine, or an address.
  public let peer: String
  /// For the handler.
  public var context: AnyObject?
  /// Of a session: which of its commands it is.
  let number: Int?
  weak var connection: ClamdConnection?
  /// Bytes that may come; `nil`: none yet.
  private(set) var limit: Int64?
  var received: Int64 = 0
  var isPaused = false
  /// When it may come, in milliseconds of the monotonic clock.
  private(set) var since: UInt64 = 0
  /// How much had come at a time, from which its pace is measured.
  private var mark: (bytes: Int64, time: UInt64) = (0, 0)

  init(_ kind: Kind, door: UInt32, peer: String, number: Int?, _ connection: ClamdConnection) {
    (self.kind, self.door, self.peer) = (kind, door, peer)
    (self.number, self.connection) = (number, connection)
  }

  /// Whether little has come for a while: the longer it has had its place, the more is little, up to 32 times as much. To be asked
  /// again and again: it is measured from one time to the next.
  func isSlow(_ limits: ClamdServer.Limits, at now: UInt64) -> Bool {
    let (came, passed) = (received - mark.bytes, now - min(mark.time, now))
    let periods = min((now - min(since, now)) / max(limits.paceTime, 1), 5)
    if came < limits.paceBytes << Int64(periods) && !isPaused { return passed >= limits.paceTime }
    mark = (received, now)
    return false
  }

  /// Its bytes may come, at most so many; of a file it only notes the limit.
  public func take(atMost limit: Int64) {
    (self.limit, since) = (limit, ClamdServer.now)
    mark.time = since
    connection?.proceed()
  }

  /// More of its bytes may come.
  public func resume() {
    if !isPaused { return }
    isPaused = false
    connection?.proceed()
  }

  /// Tells the client, once: `OK`, `NAME FOUND`, or `REASON ERROR`.
  public func answer(_ text: String) { connection?.answer(self, text) }

  /// What stands before the answer.
  var label: String { if case .file(let file) = kind { "fd[\(file.number)]" } else { "stream" } }

  /// Its bytes may come.
  public var isTaken: Bool { limit != nil }

  var isFile: Bool { if case .file = kind { true } else { false } }
}
