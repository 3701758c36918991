/// The lane of downloads: the source that fetches links, and under which limits.
public struct DownloadsDefinition: Sendable, Equatable {
  /// What fetches.
  public var stage: StageDefinition
  /// Transfers under way at once.
  public var connections = 8
  /// Of these, to one host and port.
  public var perHost = 4
  /// Bytes that the content of a link may have.
  public var maxSize = usualMaxSize
  /// Bytes that have to stay free where downloads are written; the lane pauses before.
  public var minFree: Int64 = 1 << 30
  /// How often a transfer is tried without that it comes further, and when.
  public var retry = RetryPolicy()
  /// The name of the credential that is used where a link names none; `nil`: none.
  public var credential: String?
  /// While what links are fetched.
  public var onlyWhile = Attendance.always
  /// When links are fetched, in local time; `nil`: at any time.
  public var schedule: Timetable?

  /// Of how many messages of each conversation, the newest that have links, these are fetched by themselves; `nil`: of all.
  public var prefetch: Int?

  /// What ``maxSize`` is where a pipeline says nothing.
  public static let usualMaxSize: Int64 = 50 << 20

  public init(stage: StageDefinition) {
    self.stage = stage
    retry.attempts = 5
  }
}

/// While what links are fetched.
public enum Attendance: String, Sendable, CaseIterable {
  case always
  /// While a client waits for links, or watches the queue.
  case attended
}

/// What a source says to hosts that trust it. The header is a secret.
public struct Credential: Sendable, Equatable {
  /// `name: value`.
  public var header: String
  /// Names of hosts that get it; `*.name` for all below it.
  public var hosts: [String]
  /// The participant whose session it is; `nil`: it is no user's session.
  public var owner: String?
  /// What becomes of that session where a server does not take it.
  public var on401 = Refusal.pause
  /// Reads the header again, where a part of it comes from a file.
  public var readAgain: (@Sendable () throws(Unusable) -> String)?

  /// Why a header cannot be used; a sentence that shows no part of it.
  public struct Unusable: Error {
    public var reason: String

    public init(_ reason: String) { self.reason = reason }
  }

  /// What a 401 leads to: the lane pauses in any case.
  public enum Refusal: String, Sendable, CaseIterable {
    case pause
    /// The tokens of the owner are revoked.
    case signOut = "sign-out"
  }

  public init(
    header: String, hosts: [String], owner: String? = nil, on401: Refusal = .pause,
    readAgain: (@Sendable () throws(Unusable) -> String)? = nil
  ) {
    (self.header, self.hosts) = (header, hosts)
    (self.owner, self.on401) = (owner, on401)
    self.readAgain = readAgain
  }

  public static func == (one: Credential, other: Credential) -> Bool {
    one.header.utf8.elementsEqual(other.header.utf8) && one.hosts == other.hosts
      && one.owner.map { Array($0.utf8) } == other.owner.map { Array($0.utf8) }
      && one.on401 == other.on401
  }
}
