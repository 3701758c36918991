import Pipeline

/// A worker's answer to its setup: the stages are open and the sandbox is closed.
public struct Ready: Sendable {
  /// The parts of the sandbox in force, as bits.
  public var sandbox: UInt32
  /// What trial openings and closings left behind; `nil`: there was no trial.
  public var leaked: Leak?
  /// The basis of each stage's results, if it promises equal results for equal content.
  public var bases: [String?]
  /// The length above which each stage rejects content, if it promises to.
  public var lengthLimits: [LengthLimit?]

  /// The longest basis, in bytes.
  public static let basisLimit = 1024

  /// The growth from the second quarter of the trial openings on. By then everything that is kept on purpose
  /// has been allocated.
  public struct Leak: Sendable, Equatable {
    /// Bytes on the heap.
    public var bytes: Int64
    public var descriptors: Int64

    public init(bytes: Int64, descriptors: Int64) {
      self.bytes = bytes
      self.descriptors = descriptors
    }
  }

  public init(
    sandbox: UInt32, leaked: Leak? = nil, bases: [String?] = [], lengthLimits: [LengthLimit?] = []
  ) {
    self.sandbox = sandbox
    self.leaked = leaked
    self.bases = bases
    self.lengthLimits = lengthLimits
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.ready)
    writer.write(sandbox)
    writer.write(leaked != nil)
    writer.write(leaked?.bytes ?? 0)
    writer.write(leaked?.descriptors ?? 0)
    writer.write(bases) { $0.write($1) }
    writer.write(lengthLimits) { writer, limit in
      writer.write(limit?.bytes ?? -1)
      writer.write(limit?.code)
    }
    return writer.bytes
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    sandbox = try reader.integer(UInt32.self)
    let isTried = try reader.boolean()
    let leak = Leak(bytes: try reader.integer(Int64.self), descriptors: try reader.integer(Int64.self))
    leaked = isTried ? leak : nil
    bases = try reader.elements(atMost: 256) { (reader) throws(FrameError) in
      try reader.text(atMost: Self.basisLimit)
    }
    lengthLimits = try reader.elements(atMost: 256) { (reader) throws(FrameError) -> LengthLimit? in
      let bytes = try reader.integer(Int64.self)
      let code = try reader.text(atMost: 128)
      guard bytes >= 0, let code else { return nil }
      guard PlainName.isOne(code) else { throw FrameError("a code that is none") }
      return LengthLimit(bytes: bytes, code: code)
    }
    try reader.end()
  }
}

/// Why a worker cannot be set up as asked.
public struct Refusal: Error, Sendable {
  /// The id of the stage at fault, if one is.
  public var stage: String?
  public var message: String

  public init(stage: String?, message: String) {
    self.stage = stage
    self.message = message
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.refusal)
    writer.write(stage)
    writer.write(message)
    return writer.bytes
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    stage = try reader.text(atMost: 256)
    message = try reader.requiredText(atMost: 8192)
    try reader.end()
  }
}
