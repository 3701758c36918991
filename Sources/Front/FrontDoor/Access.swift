import LedgerPort
import Platform

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

  /// With regard to what belongs to no user.
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
    let name = ByteText(token.name)
    if name == ByteText(sender) {
      self = .sender
    } else if participants.contains(where: { ByteText($0) == name }) {
      self = .participant
    }
  }
}

/// What can be asked for, and by whom. This table alone says who may do what: the documentation and the tests are made from it.
public enum Route: String, Sendable, CaseIterable {
  case ready, version, openapi, metrics, report, events
  case attachments, postAttachment, attachment, content, link, check
  case retryAttachment, hastenAttachment, deleteAttachment
  case uploadOptions, uploads, createUpload, uploadState, appendToUpload, endUpload
  case fetch, transfers
  case lanes, pauseLane, resumeLane, resetLane
  case deliveries, retryDelivery

  public var method: String {
    switch self {
    case .ready, .version, .openapi, .metrics, .report, .events, .attachments, .attachment, .content, .link,
      .uploads, .transfers,
      .lanes, .deliveries:
      "GET"
    case .retryAttachment, .hastenAttachment, .postAttachment, .check, .fetch, .pauseLane, .resumeLane,
      .resetLane,
      .retryDelivery:
      "POST"
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
    case .openapi: "/openapi.json"
    case .metrics: "/metrics"
    case .report: "/v1/report"
    case .events: "/v1/events"
    case .attachments, .postAttachment: "/v1/attachments"
    case .check: "/v1/check"
    case .attachment, .deleteAttachment: "/v1/attachments/{id}"
    case .content: "/v1/attachments/{id}/content"
    case .link: "/v1/attachments/{id}/link"
    case .retryAttachment: "/v1/attachments/{id}/retry"
    case .hastenAttachment: "/v1/attachments/{id}/now"
    case .uploadOptions, .uploads, .createUpload: "/v1/uploads"
    case .uploadState, .appendToUpload, .endUpload: "/v1/uploads/{id}"
    case .fetch: "/v1/fetch"
    case .transfers: "/v1/transfers"
    case .lanes: "/v1/lanes"
    case .pauseLane: "/v1/lanes/{id}/pause"
    case .resumeLane: "/v1/lanes/{id}/resume"
    case .resetLane: "/v1/lanes/{id}/reset"
    case .deliveries: "/v1/deliveries"
    case .retryDelivery: "/v1/deliveries/{id}/retry"
    }
  }

  /// Who may ask for it. A stranger is told of an attachment that it is not there, and so are all but the owner of an upload; but an
  /// administrator may give up any that is not whole.
  public var parties: Set<Party> {
    switch self {
    case .ready, .version, .openapi, .uploadOptions: Set(Party.allCases)
    // Each user is shown its own.
    case .events, .attachments, .postAttachment, .check, .uploads, .createUpload, .uploadState,
      .appendToUpload,
      .endUpload,
      .fetch:
      [.stranger, .participant, .sender, .service, .admin]
    case .attachment, .content, .link, .hastenAttachment: [.participant, .sender, .service, .admin]
    case .retryAttachment, .deleteAttachment: [.sender, .service, .admin]
    case .metrics, .report, .transfers, .lanes, .deliveries, .retryDelivery: [.service, .admin]
    case .pauseLane, .resumeLane, .resetLane: [.admin]
    }
  }

  /// What it is for, in a few words.
  public var summary: String {
    switch self {
    case .ready: "whether it takes work, and if not why"
    case .version: "the version of this program"
    case .openapi: "all of this as an OpenAPI description"
    case .metrics: "figures for Prometheus"
    case .report: "counts, sizes and times of the attachments that answer to a filter"
    case .events: "what happens, as it happens; to a user, what it may see"
    case .attachments: "the attachments that answer to a filter; of a user, its own"
    case .postAttachment: "send one in a single request"
    case .check: "have a content judged, and nothing kept of it"
    case .attachment: "an attachment, with what each stage said"
    case .content: "the content of an attachment"
    case .link: "a link to its content that needs no token, for ten minutes"
    case .retryAttachment: "queue it again"
    case .hastenAttachment: "fetch its link at once, before all others"
    case .deleteAttachment: "take away all that is of it, for good"
    case .uploadOptions: "what tus this speaks"
    case .uploads: "uploads that are not whole; of a user, its own"
    case .createUpload: "begin an upload"
    case .uploadState: "how much of one's own upload is there"
    case .appendToUpload: "go on with it"
    case .endUpload: "give it up; an administrator, any that is not whole"
    case .fetch: "fetch a link, and answer with what came"
    case .transfers: "what is fetched, and how far it is"
    case .lanes: "the lanes of the queue"
    case .pauseLane: "stop a lane until it is resumed"
    case .resumeLane: "let it go on"
    case .resetLane: "empty it: cancel its attachments, or drop its deliveries"
    case .deliveries: "what was told to whom, and what could not be"
    case .retryDelivery: "queue a delivery again"
    }
  }

  /// By the number of their parts.
  private static let patterns = [Int: [(route: Route, parts: [String])]](
    grouping: allCases.map { ($0, $0.path.split(separator: "/").map(String.init)) }, by: { $0.1.count })

  /// The routes with this path, and what stands for `{id}` in it.
  static func matching(_ segments: [String]) -> [(route: Route, id: String)] {
    var found: [(route: Route, id: String)] = []
    for (route, parts) in patterns[segments.count, default: []] {
      var id = ""
      let isSame = segments.indices.allSatisfy { index in
        if parts[index] != "{id}" { return parts[index] == segments[index] }
        id = segments[index]
        return true
      }
      if isSame { found.append((route, id)) }
    }
    return found
  }
}
