import Glibc
import Platform

/// What the header of a mail says of the message (RFC 5322). Whoever sent it may have written anything.
public struct MessageHeader: Sendable, Equatable {
  /// Without angle brackets, and otherwise as it is written; `nil`: it has none.
  public private(set) var messageId: [UInt8]?
  /// The first address of `From`; `nil`: it has none.
  public private(set) var sender: String?
  /// The addresses of `To`, `Cc` and `Bcc`, each once.
  public private(set) var participants: [String] = []

  /// What is read of a mail at most, in bytes.
  public static let limit = 256 << 10
  public static let participantLimit = 200

  /// - Parameter bytes: the mail, or its start. What is beyond ``limit`` is left out.
  public init(_ bytes: [UInt8]) {
    var fields = HeaderFields(Array(bytes.prefix(Self.limit)), isCut: bytes.count >= Self.limit)
    var isSenderKnown = false
    var seen: Set<[UInt8]> = []
    while let field = fields.next() {
      switch field.name {
      case "message-id" where messageId == nil: messageId = Self.messageId(field.body)
      case "from" where !isSenderKnown:
        // A second one would be the choice of another reader.
        isSenderKnown = true
        sender = AddressList(field.body).addresses.first
      case "to", "cc", "bcc":
        for address in AddressList(field.body).addresses
        where participants.count < Self.participantLimit && seen.insert(Array(address.utf8)).inserted {
          participants.append(address)
        }
      default: break
      }
    }
  }

  /// Reads the header of an open mail, from its start. May block.
  public init(reading descriptor: Int32) throws(SystemError) {
    var bytes: [UInt8] = []
    var isOver = false
    while !isOver && bytes.count < Self.limit {
      let start = bytes.count
      var failure: SystemError?
      let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { room, count in
        let read = pread(descriptor, room.baseAddress, room.count, off_t(start))
        if read < 0 && errno != EINTR { failure = SystemError("reading the header") }
        isOver = read == 0
        count = max(read, 0)
      }
      if let failure { throw failure }
      bytes += piece
      isOver = isOver || Self.hasEnd(bytes[max(start - 3, 0)...], isStart: start == 0)
    }
    self.init(bytes)
  }

  private static let pieceSize = 16 << 10

  /// Whether an empty line is there.
  private static func hasEnd(_ bytes: ArraySlice<UInt8>, isStart: Bool) -> Bool {
    var isLineEmpty = isStart
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        if isLineEmpty { return true }
        isLineEmpty = true
      } else if byte != UInt8(ascii: "\r") {
        isLineEmpty = false
      }
    }
    return false
  }

  private static func messageId(_ body: [UInt8]) -> [UInt8]? {
    var id = body[...]
    if let start = id.firstIndex(of: UInt8(ascii: "<")) {
      id = id[(start + 1)...].prefix { $0 != UInt8(ascii: ">") }
    }
    id = id.drop { HeaderFields.isBlank($0) }
    while let last = id.last, HeaderFields.isBlank(last) { id.removeLast() }
    return id.isEmpty ? nil : Array(id)
  }
}
