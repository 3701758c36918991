import LedgerPort
import Pipeline

/// A route of the API. ``facts`` has one entry for each route, with the parties that may use it. The documentation, the description of
/// the API and the tests follow from this table.
public enum Route: String, Sendable, CaseIterable {
  case ready, version, openapi, metrics, report, events
  case attachments, postAttachment, attachment, content, link, links, check
  case retryAttachment, hastenAttachment, deleteAttachment
  case uploadOptions, uploads, createUpload, uploadState, appendToUpload, endUpload
  case fetch, transfers
  case lanes, pauseLane, resumeLane, resetLane
  case deliveries, retryDelivery
  case conversations, beginConversation, conversation, renameConversation
  case addMember, removeMember
  case messages, writeMessage, message, editMessage, deleteMessage, receipts
  case read, delivered, typing, settings, sync, search, presence
  case signUp, signIn, sessions, endSession, me, changeMe, eraseMe, users, user, setUser, eraseUser

  /// The facts of a route.
  struct Facts: Sendable {
    var method: String
    /// A word in braces stands for any text.
    var path: String
    /// The parties that may use it. A stranger gets 404. An upload belongs to its owner alone, but an administrator may give up any
    /// upload that is not whole. In conversations, `sender` is the sender of the message or an admin of the group.
    var parties: Set<Party>
    /// Its purpose, in a few words.
    var summary: String
    /// The parameters of the query. Under /v1 others are refused, except for contents: pages add parameters to links.
    var parameters: [Parameter] = []
    /// The answers of success, in the form of OpenAPI.
    var answers: [(status: Int, text: String)]
    /// The header fields beside the token, and the body, in the form of OpenAPI. True: with the IETF's draft of uploads.
    var headers: @Sendable (Bool) -> [String] = { _ in [] }
    var body: @Sendable (Bool) -> String? = { _ in nil }
    var needs = Need.nothing

    init(
      _ method: String, _ path: String, _ parties: Set<Party>, _ summary: String,
      parameters: [Parameter] = [], answers: [(Int, String)],
      headers: @escaping @Sendable (Bool) -> [String] = { _ in [] },
      body: @escaping @Sendable (Bool) -> String? = { _ in nil }
    ) {
      (self.method, self.path, self.parties, self.summary) = (method, path, parties, summary)
      (self.parameters, self.headers, self.body) = (parameters, headers, body)
      self.answers = answers.map { (status: $0.0, text: $0.1) }
    }

    /// A route about conversations.
    init(
      messages method: String, _ path: String, _ parties: Set<Party>, _ summary: String,
      parameters: [Parameter] = [], answers: [(Int, String)], body: String? = nil
    ) {
      self.init(
        method, path, parties, summary, parameters: parameters, answers: answers, body: { _ in body })
      needs = .messages
    }

    /// A route about users.
    init(
      users method: String, _ path: String, _ parties: Set<Party>, _ summary: String,
      parameters: [Parameter] = [], answers: [(Int, String)], body: String? = nil, needs: Need = .people
    ) {
      self.init(
        method, path, parties, summary, parameters: parameters, answers: answers, body: { _ in body })
      self.needs = needs
    }
  }

  // Groups of parties.
  private static let anyone = Set(Party.allCases)
  static let known = anyone.subtracting([.nobody])
  static let seen = known.subtracting([.stranger])
  static let senders: Set<Party> = [.sender, .service, .admin]
  static let operators: Set<Party> = [.service, .admin]

  private static let table = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.made) })
  var facts: Facts { Self.table[self] ?? made }

  public var method: String { facts.method }
  public var path: String { facts.path }
  public var parties: Set<Party> { facts.parties }
  public var summary: String { facts.summary }
  var parameters: [Parameter] { facts.parameters }

  private var made: Facts {
    switch self {
    case .ready:
      Facts(
        "GET", "/readyz", Self.anyone, "whether it takes work, and if not why",
        answers: [(200, Self.answer("Readiness", "it takes work"))])
    case .version:
      Facts(
        "GET", "/version", Self.anyone, "the version of this program",
        answers: [(200, Self.answer("Version", "this one"))])
    case .openapi:
      Facts(
        "GET", "/openapi.json", Self.anyone, "all of this as an OpenAPI description",
        answers: [
          (200, #"{"description":"this","content":{"application/json":{"schema":{"type":"object"}}}}"#)
        ])
    case .metrics:
      Facts(
        "GET", "/metrics", Self.operators, "figures for Prometheus",
        answers: [(200, Self.answer(type: "text/plain", "in the text format of Prometheus"))])
    case .report:
      Facts(
        "GET", "/v1/report", Self.operators,
        "counts, sizes and times of the attachments that answer to a filter",
        parameters: Self.filter + [
          Parameter("limit", .number(1...API.mostReported), "So many are counted, in order of intake.")
        ], answers: [(200, Self.answer("Report", "the figures"))])
    case .events:
      Facts(
        "GET", "/v1/events", Self.known, "what happens, as it happens; to a user, what it may see",
        parameters: [
          Parameter("lastEventId", "As `Last-Event-ID`, for clients that can send no field."),
          Parameter("presence", "`off`: others are not told that the user is online."),
        ],
        answers: [(200, Self.answer(type: "text/event-stream", "Server-Sent Events, without an end"))],
        headers: { _ in [Self.header("Last-Event-ID", Self.textSchema)] })
    case .attachments:
      Facts(
        "GET", "/v1/attachments", Self.known, "the attachments that answer to a filter; of a user, its own",
        parameters: Self.filter + [
          Parameter(
            "order", .choice(["oldest", "newest"]), "Which are first; else the oldest, in order of intake.")
        ] + Self.paging, answers: [(200, Self.answer("Attachments", "a page of them"))])
    case .postAttachment:
      Facts(
        "POST", "/v1/attachments", Self.known, "send one in a single request",
        parameters: [
          Parameter("filename", "The name of the file."),
          Parameter("filetype", "Its media type, as far as the client knows."),
          Parameter("conversationId", "The conversation that it belongs to."),
          Parameter("messageId", "The message that it belongs to."),
          Parameter("reference", "A name of the product's own for it."),
          Parameter("senderId", "For whom; of a service's or administrator's token."),
          Parameter("participants", "Who takes part, as a JSON array; of such a token."),
        ], answers: [(201, Self.answer("Queued", "it is queued"))],
        headers: { Self.digests + ($0 ? Self.draft(true) + [Self.header("Upload-Length", Self.bytes)] : []) },
        body: { _ in Self.contentBody })
    case .attachment:
      Facts(
        "GET", "/v1/attachments/{id}", Self.seen, "an attachment, with what each stage said",
        answers: [(200, Self.answer("Attachment", "it"))])
    case .content:
      Facts(
        "GET", "/v1/attachments/{id}/content", Self.seen, "the content of an attachment",
        parameters: [Self.download, Self.derived, Self.encoding],
        answers: [
          (200, Self.content("all of it")), (206, Self.content("a part of it")),
          (304, Self.empty("the client has it")),
        ],
        headers: { _ in
          ["Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"]
            .map { Self.header($0, Self.textSchema) }
        })
    case .link:
      Facts(
        "GET", "/v1/attachments/{id}/link", Self.seen,
        "a link to its content that needs no token",
        parameters: [
          Parameter("seconds", .number(1...LinkSigner.longest), "How long it is good for."), Self.download,
          Self.derived,
        ], answers: [(200, Self.answer("Link", "it"))])
    case .links:
      Facts(
        "POST", "/v1/links", Self.known, "links to the contents of several attachments",
        answers: [(200, Self.answer("Links", "they"))],
        body: { _ in
          Self.json(
            #""attachments":{"type":["array","null"],"items":{"type":"string"},"maxItems":200},"#
              + #""seconds":{"type":["integer","null"],"minimum":1,"maximum":\#(LinkSigner.longest)},"#
              + #""derived":{"type":["string","null"]},"download":{"type":["boolean","null"]}"#,
            required: ["attachments"])
        })
    case .check:
      Facts(
        "POST", "/v1/check", Self.known, "have a content judged, and nothing kept of it",
        parameters: [
          Parameter("filename", "The name of the file, which stages see."),
          Parameter("filetype", "Its media type, as far as the client knows."),
        ], answers: [(200, Self.answer("Judgement", "what the pipeline says of it"))],
        headers: { _ in Self.digests }, body: { _ in Self.contentBody })
    case .retryAttachment:
      Facts(
        "POST", "/v1/attachments/{id}/retry", Self.senders, "queue it again", answers: Self.whetherChanged)
    case .hastenAttachment:
      Facts(
        "POST", "/v1/attachments/{id}/now", Self.seen, "fetch its link at once, before all others",
        answers: Self.whetherChanged)
    case .deleteAttachment:
      Facts(
        "DELETE", "/v1/attachments/{id}", Self.senders, "take away all that is of it, for good",
        answers: Self.whetherChanged)
    case .uploadOptions:
      Facts(
        "OPTIONS", "/v1/uploads", Self.anyone, "what tus this speaks",
        answers: [(204, Self.empty("in headers"))])
    case .uploads:
      Facts(
        "GET", "/v1/uploads", Self.known, "uploads that are not whole; of a user, its own",
        parameters: Self.paging, answers: [(200, Self.answer("Uploads", "a page of them"))])
    case .createUpload:
      Facts(
        "POST", "/v1/uploads", Self.known, "begin an upload",
        answers: [(201, Self.empty("its place is in Location"))],
        headers: { _ in
          [
            Self.tusVersion(true), Self.header("Upload-Length", Self.bytes),
            Self.header("Upload-Defer-Length", #"{"const":1}"#),
          ]
            + ["Upload-Metadata", "Upload-Concat", "Upload-Checksum"].map { Self.header($0, Self.textSchema) }
            + Self.digests
        }, body: { _ in #"{"content":{"\#(Tus.contentType)":{"schema":{}}}}"# })
    case .uploadState:
      Facts(
        "HEAD", "/v1/uploads/{id}", Self.known, "how much of one's own upload is there",
        answers: [(200, Self.empty("in headers"))],
        headers: { [Self.tusVersion(!$0)] + Self.draft($0).suffix(1) })
    case .appendToUpload:
      Facts(
        "PATCH", "/v1/uploads/{id}", Self.known, "go on with it",
        answers: [(204, Self.empty("how much is there is in Upload-Offset"))],
        headers: {
          [
            Self.tusVersion(!$0), Self.header("Upload-Offset", Self.bytes, isRequired: true),
            Self.header("Upload-Length", Self.bytes), Self.header("Upload-Checksum", Self.textSchema),
          ] + Self.digests + Self.draft($0)
        },
        body: {
          let draft = $0 ? #","\#(UploadDraft.contentType)":{"schema":{}}"# : ""
          return #"{"required":true,"content":{"\#(Tus.contentType)":{"schema":{}}\#(draft)}}"#
        })
    case .endUpload:
      Facts(
        "DELETE", "/v1/uploads/{id}", Self.known, "give it up; an administrator, any that is not whole",
        answers: [(204, Self.empty("it is given up"))],
        headers: { [Self.tusVersion(!$0)] + Self.draft($0).suffix(1) })
    case .fetch:
      Facts(
        "POST", "/v1/fetch", Self.known, "fetch a link, and answer with what came",
        parameters: [Self.encoding],
        answers: [(200, Self.content("what came")), (202, Self.answer("Queued", "it is queued"))],
        headers: { _ in [Self.header("Prefer", #"{"enum":["respond-async"]}"#)] },
        body: { _ in Self.json(LinkSchema.properties, required: ["url"]) })
    case .transfers:
      Facts(
        "GET", "/v1/transfers", Self.operators, "what is fetched, and how far it is",
        parameters: [Self.oneOf("state", TransferRecord.State.self, "Those in one of these states.")]
          + Self.paging,
        answers: [(200, Self.answer("Transfers", "a page of them"))])
    case .lanes:
      Facts(
        "GET", "/v1/lanes", Self.operators, "the lanes of the queue",
        answers: [(200, Self.answer("Lanes", "all of them"))])
    case .pauseLane:
      Facts(
        "POST", "/v1/lanes/{id}/pause", [.admin], "stop a lane until it is resumed",
        parameters: [Parameter("reason", "Why, for those who look at the lane.")],
        answers: Self.howMuchChanged)
    case .resumeLane:
      Facts("POST", "/v1/lanes/{id}/resume", [.admin], "let it go on", answers: Self.howMuchChanged)
    case .resetLane:
      Facts(
        "POST", "/v1/lanes/{id}/reset", [.admin], "empty it: cancel its attachments, or drop its deliveries",
        answers: Self.howMuchChanged)
    case .deliveries:
      Facts(
        "GET", "/v1/deliveries", Self.operators, "what was told to whom, and what could not be",
        parameters: [
          Self.oneOf("status", DeliveryStatus.self, "Those with one of these statuses."),
          Parameter("channel", "Those of this channel."),
          Parameter("code", .codes, "Those whose last try failed with one of these codes."),
          Parameter("id", "That with this id, or those of the attachment with it."),
        ] + Self.paging, answers: [(200, Self.answer("Deliveries", "a page of them"))])
    case .retryDelivery:
      Facts(
        "POST", "/v1/deliveries/{id}/retry", Self.operators, "queue a delivery again",
        answers: Self.howMuchChanged)
    case .conversations: Conversations.conversations
    case .beginConversation: Conversations.beginConversation
    case .conversation: Conversations.conversation
    case .renameConversation: Conversations.renameConversation
    case .addMember: Conversations.addMember
    case .removeMember: Conversations.removeMember
    case .messages: Conversations.messages
    case .writeMessage: Conversations.writeMessage
    case .message: Conversations.message
    case .editMessage: Conversations.editMessage
    case .deleteMessage: Conversations.deleteMessage
    case .receipts: Conversations.receipts
    case .read: Conversations.read
    case .delivered: Conversations.delivered
    case .typing: Conversations.typing
    case .presence: Conversations.presence
    case .settings: Conversations.settings
    case .sync: Conversations.sync
    case .search: Conversations.search
    case .signUp: Users.signUp
    case .signIn: Users.signIn
    case .sessions: Users.sessions
    case .endSession: Users.endSession
    case .me: Users.me
    case .changeMe: Users.changeMe
    case .users: Users.users
    case .user: Users.user
    case .setUser: Users.setUser
    case .eraseMe: Users.eraseMe
    case .eraseUser: Users.eraseUser
    }
  }

  // MARK: Finding one

  /// By the number of their parts.
  private static let patterns = [Int: [(route: Route, parts: [String])]](
    grouping: allCases.map { ($0, $0.path.split(separator: "/").map(String.init)) }, by: { $0.1.count })

  /// The routes with this path, and the texts at the words in braces.
  static func matching(_ segments: [String], _ rules: ServeRules) -> [(route: Route, ids: [String])] {
    var found: [(route: Route, ids: [String])] = []
    for (route, parts) in patterns[segments.count, default: []]
    where route.facts.needs.isMet(by: rules) {
      var ids: [String] = []
      let isSame = segments.indices.allSatisfy { index in
        if !parts[index].hasPrefix("{") { return parts[index] == segments[index] }
        ids.append(segments[index])
        return true
      }
      if isSame { found.append((route, ids)) }
    }
    return found
  }
}
