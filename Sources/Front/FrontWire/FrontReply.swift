import Wire

/// The answer to a request.
public struct FrontReply: Sendable, Equatable {
  public enum Content: Sendable, Equatable {
    case none
    case bytes([UInt8])
    /// A part of the file whose descriptor comes along, in bytes from its start; perhaps in the letters of Base64.
    case file(Range<Int64>, isEncoded: Bool = false)
    /// What ``ToFront/part(serial:_:)`` brings.
    case stream
  }

  public var status: Int
  public var fields: [FrontRequest.Pair]
  public var content: Content

  public init(_ status: Int, _ fields: [FrontRequest.Pair] = [], _ content: Content = .none) {
    (self.status, self.fields, self.content) = (status, fields, content)
  }

  /// Longer content is sent as a file. Streams get parts of at most so many bytes.
  public static let partLimit = 64 << 10
  /// The limit of a body in one frame, in bytes.
  public static let bodyLimit: Int64 = 90 << 10
  /// Contents that go with one frame have so many bytes together, at most: there is room for their fields.
  public static let sharedLimit = 32 << 10

  /// Bytes of the content that the frame has.
  public var length: Int { if case .bytes(let bytes) = content { bytes.count } else { 0 } }

  private static let fieldLimit = 64
  private static let textLimit = 16 << 10

  private enum Kind: UInt8 { case none, bytes, file, stream, encodedFile }

  func write(to writer: inout FrameWriter) {
    writer.write(UInt16(status))
    writer.write(fields) { writer, field in
      writer.write(field.name)
      writer.write(field.value)
    }
    switch content {
    case .none: writer.write(Kind.none.rawValue)
    case .bytes(let bytes):
      writer.write(Kind.bytes.rawValue)
      bytes.withUnsafeBytes { writer.write($0) }
    case .file(let range, let isEncoded):
      writer.write((isEncoded ? Kind.encodedFile : .file).rawValue)
      writer.write(range.lowerBound)
      writer.write(range.upperBound)
    case .stream: writer.write(Kind.stream.rawValue)
    }
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    status = Int(try reader.integer(UInt16.self))
    fields = try reader.elements(atMost: Self.fieldLimit) { (reader) throws(FrameError) in
      FrontRequest.Pair(
        try reader.requiredText(atMost: Self.textLimit), try reader.requiredText(atMost: Self.textLimit))
    }
    let kind = Kind(rawValue: try reader.integer(UInt8.self))
    switch kind {
    case .some(.none): content = .none
    case .bytes: content = .bytes(try reader.requiredBytes())
    case .file, .encodedFile:
      let (start, end) = (try reader.integer(Int64.self), try reader.integer(Int64.self))
      guard 0 <= start, start <= end else { throw FrameError("a part of a file that ends before it begins") }
      content = .file(start..<end, isEncoded: kind == .encodedFile)
    case .stream: content = .stream
    case nil: throw FrameError("an unknown kind of content")
    }
  }
}

/// The answer to one of several requests.
public struct NumberedReply: Sendable, Equatable {
  public var serial: UInt64
  public var reply: FrontReply

  public init(serial: UInt64, reply: FrontReply) { (self.serial, self.reply) = (serial, reply) }
}

extension FrameReader {
  mutating func requiredBytes() throws(FrameError) -> [UInt8] {
    guard let bytes = try textBytes() else { throw FrameError("bytes are missing") }
    return [UInt8](bytes)
  }
}
