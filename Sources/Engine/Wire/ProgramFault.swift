/// How a stage's program came to its end while an attachment was in hand, as its worker tells the coordinator. The worker ends
/// with it.
public enum ProgramFault: Sendable, Equatable {
  /// With this status.
  case exited(Int32)
  /// By this signal.
  case crashed(signal: Int32)
  /// It wrote more new content than `output` allows.
  case outputLimit
  /// It said what has no place here; with the reason.
  case invalidReply(String)

  /// The longest reason, in bytes.
  public static let reasonLimit = 1000

  public var frame: [UInt8] {
    var writer = FrameWriter(.fault)
    switch self {
    case .exited(let status):
      writer.write(UInt8(0))
      writer.write(status)
    case .crashed(let signal):
      writer.write(UInt8(1))
      writer.write(signal)
    case .outputLimit: writer.write(UInt8(2))
    case .invalidReply(let reason):
      writer.write(UInt8(3))
      writer.write(reason)
    }
    return writer.bytes
  }

  /// Reads what follows the kind.
  public init(_ reader: inout FrameReader) throws(FrameError) {
    switch try reader.integer(UInt8.self) {
    case 0: self = .exited(try reader.integer(Int32.self))
    case 1: self = .crashed(signal: try reader.integer(Int32.self))
    case 2: self = .outputLimit
    case 3: self = .invalidReply(try reader.requiredText(atMost: Self.reasonLimit * 3))
    default: throw FrameError("a fault of no kind")
    }
    try reader.end()
  }
}
