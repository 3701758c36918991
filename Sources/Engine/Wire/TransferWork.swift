import CStage
import Glibc

/// One transfer for a source's worker. Its descriptor, the file that the content goes to, comes along.
public struct TransferWork: Sendable {
  /// Identifies it among all work of this run.
  public var serial: UInt64
  public var id: String
  public var attempt = 1
  public var method = "GET"
  public var url: String
  /// For ``trustedHosts`` only: `name: value`.
  public var headers: [String] = []
  public var trustedHosts: [String] = []
  public var body: [UInt8]?
  /// Bytes of content that are allowed.
  public var limit: Int64
  public var start = TransferProgress(bytes: 0)
  public var expectedSize: Int64?
  public var expectedSHA256: String?
  public var declaredType: String?

  public init(serial: UInt64, id: String, url: String, limit: Int64) {
    self.serial = serial
    self.id = id
    self.url = url
    self.limit = limit
  }

  /// The frame, which the worker reads in place with ``TransferInput``.
  public func withFrame<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var writer = FrameWriter(.transfer)
    writer.write(serial)
    writer.write(UInt32(clamping: attempt))
    writer.write(limit)
    writer.write(start.bytes)
    writer.write(start.total ?? -1)
    writer.write(expectedSize ?? -1)
    for text in [id, method, url] { writer.write(text) }
    for text in [start.etag, start.modified, expectedSHA256, declaredType] { writer.write(text) }
    writer.write(headers) { $0.write($1) }
    writer.write(trustedHosts) { $0.write($1) }
    writer.write(self.body != nil)
    (self.body ?? []).withUnsafeBytes { writer.write($0) }
    return writer.withBytes(body)
  }
}

/// How far a transfer is.
public struct TransferProgress: Sendable, Hashable {
  /// In the file and synced, from its start.
  public var bytes: Int64
  /// Of the whole content; `nil`: not known.
  public var total: Int64?
  /// With which it can be gone on; `nil`: none.
  public var etag: String?
  /// The server's `Last-Modified`, likewise.
  public var modified: String?

  public init(bytes: Int64, total: Int64? = nil, etag: String? = nil, modified: String? = nil) {
    self.bytes = bytes
    self.total = total
    self.etag = etag
    self.modified = modified
  }
}

/// What a source's worker is told of a transfer under way.
public struct TransferOrder: Sendable, Hashable {
  public enum Kind: UInt8, Sendable {
    /// Stand still at the connection.
    case hold = 0
    case goOn
    /// Sync what has come, and end.
    case stop
  }

  public var serial: UInt64
  public var kind: Kind

  public init(serial: UInt64, _ kind: Kind) {
    self.serial = serial
    self.kind = kind
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.order)
    writer.write(serial)
    writer.write(kind.rawValue)
    return writer.bytes
  }

  /// Reads what follows the kind.
  public init(_ reader: inout FrameReader) throws(FrameError) {
    serial = try reader.integer(UInt64.self)
    guard let kind = Kind(rawValue: try reader.integer(UInt8.self)) else { throw FrameError("unknown order") }
    self.kind = kind
    try reader.end()
  }
}

/// What a source's worker tells of a transfer under way. It is believed for its own transfer only.
public struct TransferNews: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case checkpoint(TransferProgress)
    /// Bytes that are there, synced or not.
    case received(Int64)
  }

  public var serial: UInt64
  public var kind: Kind

  public init(serial: UInt64, _ kind: Kind) {
    self.serial = serial
    self.kind = kind
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.news)
    writer.write(serial)
    switch kind {
    case .checkpoint(let progress):
      writer.write(true)
      writer.write(progress.bytes)
      writer.write(progress.total ?? -1)
      writer.write(progress.etag)
      writer.write(progress.modified)
    case .received(let bytes):
      writer.write(false)
      writer.write(bytes)
    }
    return writer.bytes
  }

  /// The longest `ETag` or `Last-Modified` that is kept, in bytes.
  public static let validatorLimit = 256

  /// Reads what follows the kind, and checks every bound.
  public init(_ reader: inout FrameReader) throws(FrameError) {
    serial = try reader.integer(UInt64.self)
    let isCheckpoint = try reader.boolean()
    let bytes = try reader.integer(Int64.self)
    guard bytes >= 0 else { throw FrameError("less than no bytes") }
    if isCheckpoint {
      let total = try reader.integer(Int64.self)
      guard total < 0 || total >= bytes else { throw FrameError("more bytes than there are in all") }
      kind = .checkpoint(
        TransferProgress(
          bytes: bytes, total: total < 0 ? nil : total, etag: try reader.text(atMost: Self.validatorLimit),
          modified: try reader.text(atMost: Self.validatorLimit)))
    } else {
      kind = .received(bytes)
    }
    try reader.end()
  }
}

// MARK: - In the worker

/// ``TransferWork`` as received by the worker. The texts stay in the frame, each terminated by NUL, and the source gets pointers
/// to them.
public final class TransferInput {
  public let serial: UInt64
  public let transfer: UnsafeMutablePointer<sluice_transfer>
  private let frame: UnsafeMutableRawBufferPointer
  private let descriptor: Int32
  /// Headers, then trusted hosts, each ended by NULL.
  private let lists: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>

  /// Reads what follows the kind. On success, this object owns the frame and the descriptor; if it throws, the caller keeps them.
  public init(
    _ start: FrameReader, in frame: UnsafeMutableRawBufferPointer, descriptor: Int32
  ) throws(FrameError) {
    var reader = start
    func text(_ reader: inout FrameReader) throws(FrameError) -> UnsafePointer<CChar> {
      guard let text = try reader.pointer() else { throw FrameError("a text is missing") }
      return text
    }
    serial = try reader.integer(UInt64.self)
    var raw = sluice_transfer()
    raw.size = UInt32(MemoryLayout<sluice_transfer>.size)
    raw.content = descriptor
    raw.attempt = try reader.integer(UInt32.self)
    raw.limit = UInt64(max(try reader.integer(Int64.self), 0))
    raw.bytes = UInt64(max(try reader.integer(Int64.self), 0))
    let total = try reader.integer(Int64.self)
    raw.total = total < 0 ? .max : UInt64(total)
    let expected = try reader.integer(Int64.self)
    raw.expected_size = expected < 0 ? .max : UInt64(expected)
    raw.id = try text(&reader)
    raw.method = try text(&reader)
    raw.url = try text(&reader)
    raw.etag = try reader.pointer()
    raw.modified = try reader.pointer()
    raw.expected_sha256 = try reader.pointer()
    raw.declared_type = try reader.pointer()
    let headers = try reader.elements(atMost: 64, text)
    let hosts = try reader.elements(atMost: 256, text)
    let hasBody = try reader.boolean()
    guard let body = try reader.textBytes() else { throw FrameError("a body is missing") }
    if hasBody {
      raw.body = body.baseAddress?.assumingMemoryBound(to: CChar.self)
      raw.body_length = UInt64(body.count)
    }
    try reader.end()
    lists = .allocate(capacity: headers.count + hosts.count + 2)
    _ = lists.initialize(from: headers.map(Optional.some) + [nil] + hosts.map(Optional.some) + [nil])
    raw.headers = UnsafePointer(lists.baseAddress)
    raw.trusted_hosts = lists.baseAddress.map { UnsafePointer($0 + headers.count + 1) }
    self.frame = frame
    self.descriptor = descriptor
    transfer = .allocate(capacity: 1)
    transfer.initialize(to: raw)
  }

  deinit {
    close(descriptor)
    // It held secrets.
    if let start = frame.baseAddress { explicit_bzero(start, frame.count) }
    frame.deallocate()
    lists.deallocate()
    transfer.deallocate()
  }
}
