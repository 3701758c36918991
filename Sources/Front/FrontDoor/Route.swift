import LedgerPort
import Pipeline

/// A route of the API. ``facts`` has one entry for each route, with the parties that may use it. The documentation, the description of
/// the API and the tests follow from this table.
public enum Route: String, Sendable, CaseIterable {
  case ready, version, openapi, metrics, report, events
  case attachments, postAttachment, attachment, content, link, check
  case retryAttachment, hastenAttachment, deleteAttachment
  case uploadOptions, uploads, createUpload, uploadState, appendToUpload, endUpload
  case fetch, transfers
  case lanes, pauseLane, resumeLane, resetLane
  case deliveries, retryDelivery
  case conversations, beginConversation, conversation, renameConversation
  case addMember, removeMember
  case messages, writeMessage, message, editMessage, deleteMessage, receipts
  case read, delivered, typing, settings, sync
  case signUp, signIn, sessions, endSession, me, changeMe, users, user, setUser

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
  private static let senders: Set<Party> = [.sender, .service, .admin]
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
        parameters: [Parameter("lastEventId", "As `Last-Event-ID`, for clients that can send no field.")],
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
        "a link to its content that needs no token, for ten minutes",
        parameters: [
          Parameter("seconds", .number(1...LinkSigner.longest), "How long it is good for."), Self.download,
          Self.derived,
        ], answers: [(200, Self.answer("Link", "it"))])
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
    case .conversations:
      Facts(
        messages: "GET", "/v1/conversations", Self.known, "the conversations; of a user, its own",
        parameters: Self.paging, answers: [(200, Self.answer("Conversations", "a page of them"))])
    case .beginConversation:
      Facts(
        messages: "POST", "/v1/conversations", Self.known,
        "begin a conversation, or find the existing one",
        answers: [
          (200, Self.answer("Conversation", "it was there")), (201, Self.answer("Conversation", "it is new")),
        ],
        body: Self.json(
          #""kind":{"enum":["direct","group",null]},"members":\#(Self.textsSchema),"name":\#(Self.optionalText),"#
            + #""history":{"enum":["all","joined",null]},"id":\#(Self.optionalText)"#, required: ["members"]))
    case .conversation:
      Facts(
        messages: "GET", "/v1/conversations/{id}", Self.seen, "a conversation, with its members",
        answers: [(200, Self.answer("Conversation", "it"))])
    case .renameConversation:
      Facts(
        messages: "PATCH", "/v1/conversations/{id}", Self.senders, "give a group another name",
        answers: Self.whetherChanged,
        body: Self.json(#""name":{"type":["string","null"]}"#, required: ["name"]))
    case .addMember:
      Facts(
        messages: "PUT", "/v1/conversations/{id}/members/{user}", Self.senders,
        "add a member to a group, or change its role", answers: Self.whetherChanged,
        body: Self.json(#""role":{"enum":["admin","member",null]}"#))
    case .removeMember:
      Facts(
        messages: "DELETE", "/v1/conversations/{id}/members/{user}", Self.seen,
        "leave a group; an admin, remove a member", answers: Self.whetherChanged)
    case .messages:
      Facts(
        messages: "GET", "/v1/conversations/{id}/messages", Self.seen, "its messages, the newest first",
        parameters: [
          Parameter("before", .number(1...Int64.max), "Those with lower numbers."),
          Parameter("limit", .number(1...200), "So many; else 50."),
        ], answers: [(200, Self.answer("Messages", "a page of them"))])
    case .writeMessage:
      Facts(
        messages: "PUT", "/v1/conversations/{id}/messages/{message}", Self.seen,
        "write a message under the client's id, once for all repetitions",
        answers: [(200, Self.answer("Message", "it was there")), (201, Self.answer("Message", "it is new"))],
        body: Self.json(
          #""text":\#(Self.optionalText),"replyTo":{"type":["integer","null"],"minimum":1},"#
            + #""urgent":{"type":["boolean","null"]},"senderId":\#(Self.optionalText)"#))
    case .message:
      Facts(
        messages: "GET", "/v1/conversations/{id}/messages/{message}", Self.seen,
        "a message, by its number",
        answers: [(200, Self.answer("Message", "it"))])
    case .editMessage:
      Facts(
        messages: "PATCH", "/v1/conversations/{id}/messages/{message}", Self.senders,
        "give a message another text", answers: Self.whetherChanged,
        body: Self.json(#""text":\#(Self.textSchema)"#, required: ["text"]))
    case .deleteMessage:
      Facts(
        messages: "DELETE", "/v1/conversations/{id}/messages/{message}", Self.senders,
        "erase the text and the attachments of a message",
        answers: Self.whetherChanged)
    case .receipts:
      Facts(
        messages: "GET", "/v1/conversations/{id}/messages/{message}/receipts", Self.seen,
        "the recipients of a message, and those that have read it",
        answers: [(200, Self.answer("Receipts", "their names"))])
    case .read:
      Facts(
        messages: "PUT", "/v1/conversations/{id}/read", Self.seen, "set the number of the last read message",
        answers: Self.whetherChanged, body: Self.pointer)
    case .delivered:
      Facts(
        messages: "PUT", "/v1/conversations/{id}/delivered", Self.seen,
        "set the number of the last delivered message",
        answers: Self.whetherChanged, body: Self.pointer)
    case .typing:
      Facts(
        messages: "PUT", "/v1/conversations/{id}/typing", Self.seen, "tell the other members of typing",
        answers: [(204, Self.empty("they are told, as far as they listen"))],
        body: Self.json(#""senderId":\#(Self.optionalText)"#))
    case .settings:
      Facts(
        messages: "PUT", "/v1/conversations/{id}/settings", Self.seen, "mute a conversation",
        answers: Self.whetherChanged,
        body: Self.json(
          #""mutedUntil":{"type":["string","null"],"format":"date-time"},"senderId":\#(Self.optionalText),"#
            + #""urgentBreaksMute":{"type":["boolean","null"]}"#))
    case .sync:
      Facts(
        messages: "GET", "/v1/sync", Self.known, "the changes in the conversations since a position",
        parameters: [
          Parameter("since", "The `position` of the answer before; without it, all conversations."),
          Parameter("limit", .number(1...1000), "About so many messages; else 200."),
        ], answers: [(200, Self.answer("Sync", "the changes, and where the next begin"))])
    case .signUp: Users.signUp
    case .signIn: Users.signIn
    case .sessions: Users.sessions
    case .endSession: Users.endSession
    case .me: Users.me
    case .changeMe: Users.changeMe
    case .users: Users.users
    case .user: Users.user
    case .setUser: Users.setUser
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
