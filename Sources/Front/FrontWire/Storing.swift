import Platform
import Wire

/// What the body of a request is to become: bytes of the file whose descriptor comes along.
public struct StoreOrder: Sendable, Equatable {
  /// Where the first byte goes.
  public var offset: Int64
  /// Bytes that may come; more are not written.
  public var limit: Int64
  /// What is to be computed of them, and of a form of all its bytes; `nil`: nothing.
  public var digest: MessageDigest.Algorithm?
  /// The body is a form, of which the one file is to be stored.
  public var isForm: Bool
  /// Whether the bytes are on the disk once that is told.
  public var isSynced: Bool

  public init(
    offset: Int64, limit: Int64, digest: MessageDigest.Algorithm? = nil, isForm: Bool = false,
    isSynced: Bool = true
  ) {
    (self.offset, self.limit, self.digest) = (offset, limit, digest)
    (self.isForm, self.isSynced) = (isForm, isSynced)
  }

  func write(to writer: inout FrameWriter) {
    writer.write(offset)
    writer.write(limit)
    writer.write(digest?.rawValue)
    writer.write(isForm)
    writer.write(isSynced)
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
    isForm = try reader.boolean()
    isSynced = try reader.boolean()
  }
}

/// What a form has beside the content of its file.
public struct Form: Sendable, Equatable {
  public var fields: [FrontRequest.Pair] = []
  /// As the client calls the file; `nil`: it has no name.
  public var fileName: String?
  public var contentType: String?

  public init() {}

  public static let fieldLimit = 64
  /// Bytes of names and values together.
  public static let textLimit = 32 << 10

  func write(to writer: inout FrameWriter) {
    writer.write(fields) { writer, pair in
      writer.write(pair.name)
      writer.write(pair.value)
    }
    writer.write(fileName)
    writer.write(contentType)
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    fields = try reader.elements(atMost: Self.fieldLimit) { (reader) throws(FrameError) in
      FrontRequest.Pair(
        try reader.requiredText(atMost: Self.textLimit), try reader.requiredText(atMost: Self.textLimit))
    }
    fileName = try reader.text(atMost: Self.textLimit)
    contentType = try reader.text(atMost: Self.textLimit)
  }
}

/// What was stored of a body. The bytes are synced, where they were to be.
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
  /// It was to be a form, and is none, or one without a file.
  public var isMalformed: Bool
  public var form: Form

  public init(
    bytes: Int64, isWhole: Bool, isTooLong: Bool = false, error: Int32 = 0, digest: [UInt8] = [],
    isMalformed: Bool = false, form: Form = Form()
  ) {
    (self.bytes, self.isWhole, self.isTooLong) = (bytes, isWhole, isTooLong)
    (self.error, self.digest) = (error, digest)
    (self.isMalformed, self.form) = (isMalformed, form)
  }

  func write(to writer: inout FrameWriter) {
    writer.write(bytes)
    writer.write(isWhole)
    writer.write(isTooLong)
    writer.write(error)
    digest.withUnsafeBytes { writer.write($0) }
    writer.write(isMalformed)
    form.write(to: &writer)
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    bytes = try reader.integer(Int64.self)
    (isWhole, isTooLong) = (try reader.boolean(), try reader.boolean())
    error = try reader.integer(Int32.self)
    digest = try reader.requiredBytes()
    isMalformed = try reader.boolean()
    form = try Form(&reader)
    guard bytes >= 0, digest.count <= 64 else { throw FrameError("what was stored makes no sense") }
  }
}
