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

  public init(
    id: String, owner: String, role: AccessToken.Role, length: Int64?, metadata: String,
    concat: String? = nil,
    createdAt: Int64, expiresAt: Int64, attachmentId: String? = nil
  ) {
    (self.id, self.owner, self.role, self.length) = (id, owner, role, length)
    (self.metadata, self.concat) = (metadata, concat)
    (self.createdAt, self.expiresAt, self.attachmentId) = (createdAt, expiresAt, attachmentId)
  }
}

/// Changes an upload.
public enum UploadCommand: Sendable {
  /// Begins one. Its times are the ledger's: `expiresAt` stands for milliseconds from now.
  case begin(UploadRecord)
  /// Says how long it will be, where that was left open.
  case lengthen(id: String, Int64)
  /// It is whole: takes its file in. Repeated, it names the same attachment.
  case finish(id: String, IntakeItem)
  /// Gives it up, or forgets it: its file is not needed any more. One whose attachment may still be worked on stays.
  case end(id: String)

  public var id: String {
    switch self {
    case .begin(let record): record.id
    case .lengthen(let id, _), .finish(let id, _), .end(let id): id
    }
  }
}
