import Pipeline

/// A file that a client sends piece by piece. Its bytes are in a file named by its id; how many there are says that file.
public struct UploadRecord: Sendable, Equatable {
  /// 32 hexadecimal digits, drawn at random.
  public var id: String
  /// The name and the role of the token with which it was begun: only such a one goes on with it.
  public var owner: String
  public var role: AccessToken.Role
  /// Bytes that it will have; `nil`: the client says so later.
  public var length: Int64?
  /// What the client said of it, as it was sent.
  public var metadata: String
  /// How it is a part of others, or made of them, as it was sent; `nil`: it stands for itself.
  public var concat: String?
  /// In milliseconds since 1970, as the other.
  public var createdAt: Int64
  /// When it is given up, where it is not whole.
  public var expiresAt: Int64
  /// What it has become; `nil`: it is not whole, or a part of others.
  public var attachmentId: String?
  /// The user for whom a service began it; `nil`: it is its owner's.
  public var forUser: String?
  /// The message that named it; `nil`: its metadata says where it belongs.
  public var message: Place?

  /// A message, by the ids of its conversation and its own.
  public struct Place: Sendable, Equatable {
    public var conversationId, messageId: String

    public init(_ conversationId: String, _ messageId: String) {
      (self.conversationId, self.messageId) = (conversationId, messageId)
    }
  }

  public init(
    id: String, owner: String, role: AccessToken.Role, length: Int64?, metadata: String,
    concat: String? = nil,
    createdAt: Int64, expiresAt: Int64, attachmentId: String? = nil, forUser: String? = nil,
    message: Place? = nil
  ) {
    (self.forUser, self.message) = (forUser, message)
    (self.id, self.owner, self.role, self.length) = (id, owner, role, length)
    (self.metadata, self.concat) = (metadata, concat)
    (self.createdAt, self.expiresAt, self.attachmentId) = (createdAt, expiresAt, attachmentId)
  }
}

/// The name and the role of a token: whose an upload is.
public struct UploadOwner: Sendable {
  public var name: String
  public var role: AccessToken.Role

  public init(_ name: String, _ role: AccessToken.Role) { (self.name, self.role) = (name, role) }
}

extension UploadRecord {
  /// What the name of a file ends with that says which bytes of an upload do not count yet; before it stands the upload's id.
  public static let doubtEnding = ".doubt"

  /// Whether a text can be the id of one.
  public static func isId(_ text: some Collection<UInt8>) -> Bool {
    text.count == 32 && text.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) }
  }
}

/// Changes an upload.
public enum UploadCommand: Sendable {
  /// Begins one. Its times are the ledger's: `expiresAt` stands for milliseconds from now. Refused where its owner has as many that
  /// are not whole as are allowed; `nil`: any number.
  case begin(UploadRecord, atMost: Int? = nil)
  /// Says how long it will be, where that was left open.
  case lengthen(id: String, Int64)
  /// It is whole: takes its file in. Repeated, it names the same attachment.
  case finish(id: String, IntakeItem)
  /// Gives it up, or forgets it: its file is not needed any more. One whose attachment may still be worked on stays.
  case end(id: String)
  /// Gives up one that is no attachment yet. Of one that is, nothing changes, and the result names the attachment.
  case giveUp(id: String)

  public var id: String {
    switch self {
    case .begin(let record, _): record.id
    case .lengthen(let id, _), .finish(let id, _), .end(let id), .giveUp(let id): id
    }
  }
}
