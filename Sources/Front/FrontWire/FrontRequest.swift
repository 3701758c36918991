import Wire

/// A request as the process that serves HTTP understood it. The coordinator trusts none of it: what that process may ask for is
/// what the request's token allows.
public struct FrontRequest: Sendable, Equatable {
  public struct Pair: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  /// What is known of the body before it is read.
  public enum Body: Sendable, Equatable {
    case none
    /// So many bytes come.
    case length(Int64)
    /// Its end is told when it comes.
    case unknown
  }

  /// Given back with all that is about this request.
  public var serial: UInt64
  public var method: String
  /// The parts of the path, decoded.
  public var segments: [String]
  public var query: [Pair]
  /// The header, in its order; names in small letters.
  public var fields: [Pair]
  public var body: Body
  /// The client's address; empty: it came over a Unix socket.
  public var peer: String

  public init(
    serial: UInt64, method: String, segments: [String], query: [Pair] = [], fields: [Pair] = [],
    body: Body = .none, peer: String = ""
  ) {
    (self.serial, self.method, self.segments, self.query) = (serial, method, segments, query)
    (self.fields, self.body, self.peer) = (fields, body, peer)
  }

  /// The value of the only field with this name; `nil`: there is none, or there are several.
  ///
  /// - Parameter name: in small letters.
  public func field(_ name: String) -> String? {
    var found: String?
    for field in fields where field.name == name {
      if found != nil { return nil }
      found = field.value
    }
    return found
  }

  /// All values of a field.
  public func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

  /// Bytes that it takes of a frame, at most.
  public var size: Int {
    var size = 64 + method.utf8.count + peer.utf8.count
    for segment in segments { size += segment.utf8.count + FrameWriter.textOverhead }
    for pairs in [query, fields] {
      for pair in pairs {
        size += pair.name.utf8.count + pair.value.utf8.count + 2 * FrameWriter.textOverhead
      }
    }
    return size
  }

  // MARK: As a frame

  private static let segmentLimit = 32
  private static let pairLimit = 256
  private static let textLimit = 32 << 10

  func write(to writer: inout FrameWriter) {
    writer.write(serial)
    writer.write(method)
    writer.write(segments) { $0.write($1) }
    for pairs in [query, fields] {
      writer.write(pairs) { writer, pair in
        writer.write(pair.name)
        writer.write(pair.value)
      }
    }
    switch body {
    case .none: writer.write(Int64(-2))
    case .unknown: writer.write(Int64(-1))
    case .length(let count): writer.write(count)
    }
    writer.write(peer)
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    func pairs(_ reader: inout FrameReader) throws(FrameError) -> [Pair] {
      try reader.elements(atMost: Self.pairLimit) { (reader) throws(FrameError) -> Pair in
        Pair(try reader.requiredText(atMost: Self.textLimit), try reader.requiredText(atMost: Self.textLimit))
      }
    }
    serial = try reader.integer(UInt64.self)
    method = try reader.requiredText(atMost: 64)
    segments = try reader.elements(atMost: Self.segmentLimit) { (reader) throws(FrameError) -> String in
      try reader.requiredText(atMost: Self.textLimit)
    }
    query = try pairs(&reader)
    fields = try pairs(&reader)
    switch try reader.integer(Int64.self) {
    case -2: body = .none
    case -1: body = .unknown
    case let count where count >= 0: body = .length(count)
    default: throw FrameError("a body of less than no bytes")
    }
    peer = try reader.requiredText(atMost: 64)
  }
}
