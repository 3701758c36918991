import Platform
import Wire

/// What the body of a request is to become: bytes of the file whose descriptor comes along.
public struct StoreOrder: Sendable, Equatable {
  /// Where the first byte goes.
  public var offset: Int64
  /// Bytes that may come; more are not written.
  public var limit: Int64
  /// What is to be computed of them; `nil`: nothing.
  public var digest: MessageDigest.Algorithm?

  public init(offset: Int64, limit: Int64, digest: MessageDigest.Algorithm? = nil) {
    (self.offset, self.limit, self.digest) = (offset, limit, digest)
  }

  func write(to writer: inout FrameWriter) {
    writer.write(offset)
    writer.write(limit)
    writer.write(digest?.rawValue)
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    (offset, limit) = (try reader.integer(Int64.self), try reader.integer(Int64.self))
    guard offset >= 0, limit >= 0 else { throw FrameError("a place in a file that is none") }
    digest = nil
    if let name = try reader.text(atMost: 16) {
      guard let algorithm = MessageDigest.Algorithm(rawValue: name) else {
        throw FrameError("an unknown digest")
      }
      digest = algorithm
    }
  }
}

/// What was stored of a body. The bytes are synced.
public struct Stored: Sendable, Equatable {
  public var bytes: Int64
  /// The body was whole.
  public var isWhole: Bool
  /// More came than was allowed.
  public var isTooLong: Bool
  /// Why not all was written: an errno; 0: all was.
  public var error: Int32
  /// Of the bytes of this body; empty: none was asked for.
  public var digest: [UInt8]

  public init(bytes: Int64, isWhole: Bool, isTooLong: Bool = false, error: Int32 = 0, digest: [UInt8] = []) {
    (self.bytes, self.isWhole, self.isTooLong) = (bytes, isWhole, isTooLong)
    (self.error, self.digest) = (error, digest)
  }

  func write(to writer: inout FrameWriter) {
    writer.write(bytes)
    writer.write(isWhole)
    writer.write(isTooLong)
    writer.write(error)
    digest.withUnsafeBytes { writer.write($0) }
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    bytes = try reader.integer(Int64.self)
    (isWhole, isTooLong) = (try reader.boolean(), try reader.boolean())
    error = try reader.integer(Int32.self)
    digest = try reader.requiredBytes()
    guard bytes >= 0, digest.count <= 64 else { throw FrameError("what was stored makes no sense") }
  }
}
