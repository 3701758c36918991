/// What clients of `sluice serve` may do, and where they find it.
public struct ServeRules: Sendable, Equatable {
  /// Addresses, as `--listen` takes them; none: the usual one.
  public var listen: [String] = []
  /// Connections at once, in all and from one address.
  public var connections = 10_000
  public var perAddress = 200
  /// Bytes of an upload, and of one that calls itself an image.
  public var maxSize: Int64 = 10 << 20
  public var maxImageSize: Int64 = 2 << 20
  /// Uploads of a user that are not whole, at once.
  public var uploads = 20
  /// Milliseconds that an upload may take.
  public var uploadTime: Int64 = 86_400_000

  /// Addresses of proxies, whose `X-Forwarded-For` is believed.
  public var trustProxy: [String] = []
  /// Where clients find it, without a slash at the end; `nil`: places that are given out begin with a slash.
  public var publicURL: String?
  /// Origins of pages that may ask from elsewhere: `https://app.example.com`.
  public var origins: [String] = []
  /// Names of header fields that these pages may send, beside those that Sluice takes.
  public var originHeaders: [String] = []
  /// Who begins uploads.
  public var uploadsBy = UploadsBy.everyone

  public enum UploadsBy: String, Sendable, CaseIterable {
    case everyone
    /// Users only go on with what a service has begun for them.
    case services
  }

  /// Whether people write to each other: conversations, messages and receipts.
  public var messages = false
  /// Whether members see each other online and typing.
  public var presence = true
  /// The callers that begin conversations, and add and remove members.
  public var conversationsBy = UploadsBy.everyone

  /// The callers that make accounts, with which people sign in.
  public var accounts = AccountsBy.nobody

  public enum AccountsBy: String, Sendable, CaseIterable {
    /// There are no accounts: all come with tokens.
    case nobody
    /// Services make them; people sign in.
    case services
    /// Everybody who reaches the server signs up.
    case everyone
  }

  /// Whether the IETF's draft of resumable uploads is spoken, beside tus.
  public var uploadDraft = false

  /// The file of the access log, or `-` for standard output; relative to the home. `nil`: none is kept.
  public var accessLog: String?

  /// Where clients of ClamAV's daemon are answered.
  public var clamd: [ClamdDoor] = []

  /// A door for clients that ask ClamAV's daemon whether a content is clean.
  public struct ClamdDoor: Sendable, Equatable {
    /// As `--listen` takes it, but not `systemd`.
    public var listen = ""
    /// The pipeline file whose line judges; relative to that of the file that names it. `nil`: this one.
    public var pipeline: String?
    /// Bytes of a content; clients are told where it has more.
    public var maxSize: Int64 = 25 << 20
    /// What clients are told of a content that was not decided.
    public var unknown = Unknown.error

    /// What is put on record.
    public var record = Record.none

    public enum Unknown: String, Sendable, CaseIterable {
      case error, found
    }

    public enum Record: String, Sendable, CaseIterable {
      case none
      /// What is not clean.
      case found
      case all
    }

    /// As many doors there may be.
    public static let most = 4

    public init() {}
  }

  /// Whose signed tokens tell who a user is; `nil`: only this server's own tokens do.
  public var identity: Identity?

  /// A program that signs tokens for the product's users (RFC 7519).
  public struct Identity: Sendable, Equatable {
    /// What `iss` and `aud` of a token must be.
    public var issuer = ""
    public var audience = ""
    /// The file with its public keys, relative to the home; or a link to them.
    public var keys = ""
    /// Addresses, or the host's name, that may be private, loopback or this machine's own where the keys are a link.
    public var allowPrivate: [String] = []

    public var isLink: Bool { keys.hasPrefix("https://") || keys.hasPrefix("http://") }

    public init() {}
  }

  public init() {}
}
