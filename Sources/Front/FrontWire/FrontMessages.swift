import Wire

/// What the coordinator tells the process that serves HTTP. A frame of a SOCK_SEQPACKET socket each.
public enum ToFront: Sendable, Equatable {
  /// The first: it begins.
  case serve(FrontSetup)
  /// Answers a request; once.
  case reply(serial: UInt64, FrontReply)
  /// Answers several requests that came with one frame; each once. What is long is answered alone.
  case replies([NumberedReply])
  /// Tells the client something before the answer (RFC 9110, 15.2).
  case inform(serial: UInt64, FrontReply)
  /// More of a stream that is the answer to a request.
  case part(serial: UInt64, [UInt8])
  /// The same for several.
  case parts(serials: [UInt64], [UInt8])
  /// The stream is whole.
  case finish(serial: UInt64)
  /// The body of a request is wanted; at most so many bytes.
  case takeBody(serial: UInt64, limit: Int64)
  /// The body of a request is wanted, in a file.
  case store(serial: UInt64, StoreOrder)
  /// The connection of a request is closed.
  case abort(serial: UInt64)
  /// It takes no more connections, lets requests under way end, and ends.
  case drain

  /// As many streams are told something with one frame, where that has no more than ``FrontReply/partLimit`` bytes.
  public static let mostSerials = 2000

  public var frame: [UInt8] {
    switch self {
    case .serve(let setup):
      var writer = FrameWriter(.serve)
      setup.write(to: &writer)
      return writer.bytes
    case .reply(let serial, let reply):
      var writer = FrameWriter(.reply)
      writer.write(serial)
      reply.write(to: &writer)
      return writer.bytes
    case .replies(let replies):
      var writer = FrameWriter(.replies)
      writer.write(replies) { writer, each in
        writer.write(each.serial)
        each.reply.write(to: &writer)
      }
      return writer.bytes
    case .inform(let serial, let reply):
      var writer = FrameWriter(.inform)
      writer.write(serial)
      reply.write(to: &writer)
      return writer.bytes
    case .part(let serial, let bytes):
      var writer = FrameWriter(.part)
      writer.write(serial)
      bytes.withUnsafeBytes { writer.write($0) }
      return writer.bytes
    case .parts(let serials, let bytes):
      var writer = FrameWriter(.parts)
      writer.write(serials) { $0.write($1) }
      bytes.withUnsafeBytes { writer.write($0) }
      return writer.bytes
    case .finish(let serial):
      var writer = FrameWriter(.finish)
      writer.write(serial)
      return writer.bytes
    case .takeBody(let serial, let limit):
      var writer = FrameWriter(.takeBody)
      writer.write(serial)
      writer.write(limit)
      return writer.bytes
    case .store(let serial, let order):
      var writer = FrameWriter(.store)
      writer.write(serial)
      order.write(to: &writer)
      return writer.bytes
    case .abort(let serial):
      var writer = FrameWriter(.abort)
      writer.write(serial)
      return writer.bytes
    case .drain: return FrameWriter(.drain).bytes
    }
  }

  public init(_ frame: UnsafeRawBufferPointer) throws(FrameError) {
    var reader = FrameReader(frame)
    switch try reader.kind() {
    case .serve: self = .serve(try FrontSetup(&reader))
    case .reply: self = .reply(serial: try reader.integer(UInt64.self), try FrontReply(&reader))
    case .replies:
      self = .replies(
        try reader.elements(atMost: FromFront.mostRequests) { (reader) throws(FrameError) in
          NumberedReply(serial: try reader.integer(UInt64.self), reply: try FrontReply(&reader))
        })
    case .inform: self = .inform(serial: try reader.integer(UInt64.self), try FrontReply(&reader))
    case .part: self = .part(serial: try reader.integer(UInt64.self), try reader.requiredBytes())
    case .parts:
      let serials = try reader.elements(atMost: Self.mostSerials) { (reader) throws(FrameError) in
        try reader.integer(UInt64.self)
      }
      self = .parts(serials: serials, try reader.requiredBytes())
    case .finish: self = .finish(serial: try reader.integer(UInt64.self))
    case .takeBody:
      self = .takeBody(serial: try reader.integer(UInt64.self), limit: try reader.integer(Int64.self))
    case .store: self = .store(serial: try reader.integer(UInt64.self), try StoreOrder(&reader))
    case .abort: self = .abort(serial: try reader.integer(UInt64.self))
    case .drain: self = .drain
    default: throw FrameError("a frame that has no place here")
    }
    try reader.end()
  }
}

/// What the process that serves HTTP tells the coordinator.
public enum FromFront: Sendable, Equatable {
  /// It takes connections. The parts of the sandbox in force, as bits.
  case serving(sandbox: UInt32)
  case request(FrontRequest)
  /// Several that are answered from a row or two each: one that takes longer would hold up the others.
  case requests([FrontRequest])
  /// The body that was asked for.
  case body(serial: UInt64, [UInt8])
  /// It is longer than was allowed, or will not come.
  case cut(serial: UInt64, isTooLong: Bool)
  /// What came of a body that was to be stored. Always told once for each.
  case stored(serial: UInt64, Stored)
  /// Answers are written, or their clients have left; by serial.
  case ended([UInt64: FrontEnd])

  /// So many requests come with one frame, at most. There is another frame for the next thread that answers.
  public static let mostRequests = 16
  /// So many ends are told with one frame, at most.
  public static let mostEnds = 1000

  public var frame: [UInt8] {
    switch self {
    case .serving(let sandbox):
      var writer = FrameWriter(.serving)
      writer.write(sandbox)
      return writer.bytes
    case .request(let request):
      var writer = FrameWriter(.request)
      request.write(to: &writer)
      return writer.bytes
    case .requests(let requests):
      var writer = FrameWriter(.requests)
      writer.write(requests) { $1.write(to: &$0) }
      return writer.bytes
    case .body(let serial, let bytes):
      var writer = FrameWriter(.body)
      writer.write(serial)
      bytes.withUnsafeBytes { writer.write($0) }
      return writer.bytes
    case .cut(let serial, let isTooLong):
      var writer = FrameWriter(.cut)
      writer.write(serial)
      writer.write(isTooLong)
      return writer.bytes
    case .stored(let serial, let stored):
      var writer = FrameWriter(.stored)
      writer.write(serial)
      stored.write(to: &writer)
      return writer.bytes
    case .ended(let ends):
      var writer = FrameWriter(.ended)
      writer.write(UInt32(ends.count))
      for (serial, end) in ends {
        writer.write(serial)
        end.write(to: &writer)
      }
      return writer.bytes
    }
  }

  public init(_ frame: UnsafeRawBufferPointer) throws(FrameError) {
    var reader = FrameReader(frame)
    switch try reader.kind() {
    case .serving: self = .serving(sandbox: try reader.integer(UInt32.self))
    case .request: self = .request(try FrontRequest(&reader))
    case .requests:
      self = .requests(
        try reader.elements(atMost: Self.mostRequests) { (reader) throws(FrameError) in
          try FrontRequest(&reader)
        })
    case .body: self = .body(serial: try reader.integer(UInt64.self), try reader.requiredBytes())
    case .cut: self = .cut(serial: try reader.integer(UInt64.self), isTooLong: try reader.boolean())
    case .stored: self = .stored(serial: try reader.integer(UInt64.self), try Stored(&reader))
    case .ended:
      var ends: [UInt64: FrontEnd] = [:]
      let all = try reader.elements(atMost: Self.mostEnds) { (reader) throws(FrameError) in
        (try reader.integer(UInt64.self), try FrontEnd(&reader))
      }
      for (serial, end) in all {
        if ends.updateValue(end, forKey: serial) != nil { throw FrameError("a request that ends twice") }
      }
      self = .ended(ends)
    default: throw FrameError("a frame that has no place here")
    }
    try reader.end()
  }
}

/// How a request and its answer went, for the log.
public struct FrontEnd: Sendable, Equatable {
  /// Of the answer; 0: there was none.
  public var status: Int
  /// Bytes of the request's body, and of the answer with its head.
  public var received: Int64
  public var sent: Int64
  public var microseconds: Int64
  /// The client took all of it, as far as the kernel tells.
  public var isWhole: Bool

  public init(status: Int, received: Int64, sent: Int64, microseconds: Int64, isWhole: Bool) {
    (self.status, self.received, self.sent) = (status, received, sent)
    (self.microseconds, self.isWhole) = (microseconds, isWhole)
  }

  func write(to writer: inout FrameWriter) {
    writer.write(Int64(status))
    writer.write(received)
    writer.write(sent)
    writer.write(microseconds)
    writer.write(isWhole)
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    status = Int(truncatingIfNeeded: try reader.integer(Int64.self))
    (received, sent) = (try reader.integer(Int64.self), try reader.integer(Int64.self))
    (microseconds, isWhole) = (try reader.integer(Int64.self), try reader.boolean())
    guard status == 0 || 100...599 ~= status, received >= 0, sent >= 0, microseconds >= 0 else {
      throw FrameError("an end of a request that makes no sense")
    }
  }
}
