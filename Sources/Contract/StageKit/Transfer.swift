/// What a source is to fetch, and what it may say of it.
///
/// Valid until ``end(_:)``.
public struct Transfer: Identifiable {
  /// Which of the transfers under way.
  public struct ID: Hashable {
    private let call: OpaquePointer

    init(_ call: OpaquePointer) {
      self.call = call
    }
  }

  private let raw: UnsafePointer<sluice_transfer>
  private let call: OpaquePointer
  private let host: UnsafePointer<sluice_host>

  init(_ raw: UnsafePointer<sluice_transfer>, call: OpaquePointer, host: UnsafePointer<sluice_host>) {
    self.raw = raw
    self.call = call
    self.host = host
  }

  /// Which of the transfers under way it is.
  public var id: ID { ID(call) }
  /// For the log.
  public var name: String { String(cString: raw.pointee.id) }
  /// 1 for the first.
  public var attempt: Int { Int(raw.pointee.attempt) }
  /// `GET`, `POST`.
  public var method: String { String(cString: raw.pointee.method) }
  /// A secret; not checked by the host.
  public var url: String { String(cString: raw.pointee.url) }
  /// Secrets: `name: value`, for ``trustedHosts`` only.
  public var headers: [String] { Self.texts(raw.pointee.headers) }
  /// Names of hosts; `*.name` for all below it.
  public var trustedHosts: [String] { Self.texts(raw.pointee.trusted_hosts) }
  /// A secret; `nil`: none.
  public var body: UnsafeRawBufferPointer? {
    raw.pointee.body.map { UnsafeRawBufferPointer(start: $0, count: Int(raw.pointee.body_length)) }
  }
  /// A file to read and write. The content goes there from offset 0.
  public var content: Int32 { raw.pointee.content }
  /// Bytes of content that are allowed.
  public var limit: Int64 { Int64(clamping: raw.pointee.limit) }
  /// How far earlier attempts came; 0 bytes: the first begins.
  public var start: Checkpoint {
    Checkpoint(
      bytes: Int64(clamping: raw.pointee.bytes),
      total: raw.pointee.total == .max ? nil : Int64(clamping: raw.pointee.total),
      etag: raw.pointee.etag.map { String(cString: $0) },
      modified: raw.pointee.modified.map { String(cString: $0) })
  }
  /// Bytes that it has, as the request for it says; `nil`: not known.
  public var expectedSize: Int64? {
    raw.pointee.expected_size == .max ? nil : Int64(clamping: raw.pointee.expected_size)
  }
  /// 64 hexadecimal digits; `nil`: not known. The host compares it.
  public var expectedSHA256: String? { raw.pointee.expected_sha256.map { String(cString: $0) } }
  /// The media type that the request for it names; `nil`: not given.
  public var declaredType: String? { raw.pointee.declared_type.map { String(cString: $0) } }

  /// How far a transfer is.
  public struct Checkpoint: Sendable, Hashable {
    /// In the file and synced, from its start.
    public var bytes: Int64
    /// Of the whole content; `nil`: not known.
    public var total: Int64?
    /// With which it can be gone on; `nil`: none.
    public var etag: String?
    /// The server's `Last-Modified`, likewise.
    public var modified: String?

    /// So many bytes from the start, of so many in all, and what proves that the rest belongs to them.
    public init(bytes: Int64, total: Int64? = nil, etag: String? = nil, modified: String? = nil) {
      self.bytes = bytes
      self.total = total
      self.etag = etag
      self.modified = modified
    }
  }

  /// Tells how far it is. The file must have been synced (fdatasync(2)) before.
  public func checkpoint(_ checkpoint: Checkpoint) {
    withText(checkpoint.etag) { etag in
      withText(checkpoint.modified) { modified in
        var raw = sluice_checkpoint(
          size: UInt32(MemoryLayout<sluice_checkpoint>.size), reserved: 0,
          bytes: UInt64(max(checkpoint.bytes, 0)),
          total: checkpoint.total.map { UInt64(max($0, 0)) } ?? .max, etag: etag, modified: modified)
        host.pointee.checkpoint(call, &raw)
      }
    }
  }

  /// Tells those who look on how many bytes are there. At most four times a second.
  public func received(_ bytes: Int64) { host.pointee.received(call, UInt64(max(bytes, 0))) }

  /// A line in the log.
  public func log(_ level: LogLevel = .info, _ line: String) { host.pointee.log(call, level.rawValue, line) }

  /// Records metadata under a key the source lists.
  public func annotate(_ key: String, _ value: String) { host.pointee.annotate_text(call, key, value) }
  /// The same for a whole number.
  public func annotate(_ key: String, _ value: Int64) { host.pointee.annotate_integer(call, key, value) }

  /// Ends the transfer; `nil`: the whole content lies in the file, synced, and nothing beyond it.
  public func end(_ outcome: Outcome?) {
    if let outcome { outcome.say(to: host, call) }
    host.pointee.settle(call, outcome?.verdict ?? SLUICE_PASS)
  }

  private static func texts(_ start: UnsafePointer<UnsafePointer<CChar>?>?) -> [String] {
    guard var next = start else { return [] }
    var texts: [String] = []
    while let text = next.pointee {
      texts.append(String(cString: text))
      next += 1
    }
    return texts
  }

  private func withText(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Void) {
    if let text { text.withCString(body) } else { body(nil) }
  }
}
