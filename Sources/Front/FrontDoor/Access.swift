import Ledger

/// Who asks, with regard to what is asked for.
public enum Party: String, Sendable, CaseIterable {
  /// Without a token, or with one that is worth nothing.
  case nobody
  /// A user who takes no part in it.
  case stranger
  case participant
  case sender
  case service
  case admin

  /// With regard to what is of nobody in particular.
  init(_ token: AccessToken?) {
    switch token?.role {
    case nil: self = .nobody
    case .user: self = .stranger
    case .service: self = .service
    case .admin: self = .admin
    }
  }

  /// With regard to an attachment.
  init(_ token: AccessToken?, sender: String, participants: [String]) {
    self.init(token)
    guard let token, token.role == .user else { return }
    if token.name == sender {
      self = .sender
    } else if participants.contains(token.name) {
      self = .participant
    }
  }
}

/// What can be asked for, and by whom. This table alone says who may do what: the documentation and the tests are made from it.
public enum Route: String, Sendable, CaseIterable {
  case ready, version
  case attachments, attachment, content
  case retryAttachment, deleteAttachment
  case uploadOptions, createUpload, uploadState, appendToUpload, endUpload

  public var method: String {
    switch self {
    case .ready, .version, .attachments, .attachment, .content: "GET"
    case .retryAttachment: "POST"
    case .deleteAttachment, .endUpload: "DELETE"
    case .uploadOptions: "OPTIONS"
    case .createUpload: "POST"
    case .uploadState: "HEAD"
    case .appendToUpload: "PATCH"
    }
  }

  /// The path; `{id}` stands for any text.
  public var path: String {
    switch self {
    case .ready: "/readyz"
    case .version: "/version"
    case .attachments: "/v1/attachments"
    case .attachment, .deleteAttachment: "/v1/attachments/{id}"
    case .content: "/v1/attachments/{id}/content"
    case .retryAttachment: "/v1/attachments/{id}/retry"
    case .uploadOptions, .createUpload: "/v1/uploads"
    case .uploadState, .appendToUpload, .endUpload: "/v1/uploads/{id}"
    }
  }

  /// Who may ask for it. A stranger is told of an attachment that it is not there, and so are all but the owner of an upload.
  public var parties: Set<Party> {
    switch self {
    case .ready, .version, .uploadOptions: Set(Party.allCases)
    // Each user is shown its own.
    case .attachments, .createUpload, .uploadState, .appendToUpload, .endUpload:
      [.stranger, .participant, .sender, .service, .admin]
    case .attachment, .content: [.participant, .sender, .service, .admin]
    case .retryAttachment, .deleteAttachment: [.sender, .service, .admin]
    }
  }

  /// What it is for, in a few words.
  public var summary: String {
    switch self {
    case .ready: "whether it takes work, and if not why"
    case .version: "the version of this program"
    case .attachments: "the attachments that answer to a filter; of a user, its own"
    case .attachment: "an attachment, with what each stage said"
    case .content: "the content of an attachment"
    case .retryAttachment: "queue it again"
    case .deleteAttachment: "take away all that is of it, for good"
    case .uploadOptions: "what tus this speaks"
    case .createUpload: "begin an upload"
    case .uploadState: "how much of one's own upload is there"
    case .appendToUpload: "go on with it"
    case .endUpload: "give it up"
    }
  }

  private static let patterns = allCases.map { ($0, $0.path.split(separator: "/").map(String.init)) }

  /// The routes with this path, and what stands for `{id}` in it.
  static func matching(_ segments: [String]) -> [(route: Route, id: String)] {
    patterns.compactMap { route, pattern in
      guard pattern.count == segments.count else { return nil }
      var id = ""
      for (part, segment) in zip(pattern, segments) {
        if part == "{id}" { id = segment } else if part != segment { return nil }
      }
      return (route, id)
    }
  }
}
