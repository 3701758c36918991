import FrontWire
import HomeFolder
import Identity
import JSONText
import LedgerPort
import LedgerSQLite
import Manifest
import Objects
import Pipeline
import Platform
import Scheduler

/// Answers requests: looks up who asks, what may be asked for, and reads it. Used by one thread.
final class API {
  /// What becomes of a request.
  enum Answer: Sendable {
    case reply(FrontReply)
    /// Tells the client something before the answer.
    indirect case inform(FrontReply, Answer)
    /// With the file that is the content of the reply.
    case file(FrontReply, SharedDescriptor)
    /// Commands that the coordinator applies; the answer follows from their results.
    case commands([Command], @Sendable ([CommandResult]) -> Answer)
    /// Events that are on no record are told to present listeners.
    case tell([EventFeed.Event], FrontReply)
    /// The answer goes on as long as its reader listens.
    case stream(FrontReply, EventStreams.Listener)
    /// The answer follows once an attachment has ended, or after so many seconds.
    case await(String, seconds: Int)
    /// The answer follows once the ledger has changed, or after so many seconds.
    case wait(seconds: Int, seen: Position, ChangeStep)
    /// The answer follows from the body.
    case body(limit: Int64 = bodyLimit, @Sendable (API, [UInt8]) throws -> Answer)
    /// The answer follows from the hash of a password, which takes long on purpose: one thread makes one after the other.
    case hash(@Sendable () throws -> Answer)
    /// The answer comes from the ledger, and takes long: one thread looks for one after the other, and each asker may wait for a few.
    case search(by: ByteText, @Sendable (API) throws -> Answer)
    /// The answer comes from the ledger, after the commit of the commands.
    case look(@Sendable (API) throws -> Answer)
    /// A step that needs an upload for itself: one that another request is at ends first.
    case upload(String, UploadStep)
    /// The body goes to the file of an upload; the answer follows from what came of it.
    case store(String, StoreOrder, SharedDescriptor, @Sendable (API, Stored) throws -> Answer)
    /// The body goes to a file, and what that has is judged.
    case check(StoreOrder, SharedDescriptor, AccessToken, @Sendable (Stored) throws -> Check)
  }

  /// Looks again after a change, or for the last time (true); `nil`: there is nothing for this request.
  typealias ChangeStep = @Sendable (API, Bool) throws -> Answer?

  let home: Home
  let ledger: any LedgerQueries
  let uploads: UploadsFolder
  let rules: ServeRules
  /// Whether the pipeline fetches links.
  let fetches: Bool
  /// Whether some links are fetched only once they are asked for.
  let prefetches: Bool
  let lines: ManifestLineReader
  let parser: JSONParser
  /// Draws the ids of new conversations and messages.
  var newIds = UUIDv7Generator()
  let counts: @Sendable () -> FrontCounts
  let links: LinkSigner
  let reporting: OneAtATime
  let objects: CheckedObjects
  /// `nil`: tokens that others have signed are not accepted.
  let identity: JSONWebTokens?
  /// Commands that no answer waits for.
  var later: [Command] = []
  let tries: SignInTries
  let proxies: [AddressRange]
  /// Who made the last request, for the log; `nil`: it had no valid token.
  private(set) var asker: AccessToken?
  /// An attachment that there was lately, which is looked up in the place of one that is not there.
  var decoy: String?
  let recollection = Recollection()
  let present: Presence
  private let version: String
  let hash: SHA256

  init(
    _ home: Home, version: String, rules: ServeRules = ServeRules(), fetches: Bool = true,
    prefetches: Bool = false,
    links: LinkSigner? = nil, identity: JSONWebTokens? = nil, reporting: OneAtATime = OneAtATime(),
    objects: CheckedObjects = CheckedObjects(), tries: SignInTries = SignInTries(),
    present: Presence = Presence(),
    counts: @escaping @Sendable () -> FrontCounts = { FrontCounts() }
  ) throws {
    (self.home, self.version, self.rules, self.fetches) = (home, version, rules, fetches)
    (self.counts, self.identity, self.reporting) = (counts, identity, reporting)
    (self.prefetches, self.objects, self.tries, self.present) = (prefetches, objects, tries, present)
    proxies = rules.trustProxy.compactMap { AddressRange($0) }
    self.links = try links ?? LinkSigner()
    (lines, parser) = (try ManifestLineReader(), try JSONParser())
    uploads = UploadsFolder(home)
    ledger = try home.reader()
    hash = try SHA256()
  }

  func answer(_ request: FrontRequest) -> Answer { answers([request])[0].next }

  /// Answers requests, and says who made them. All that is looked up is of one moment, after they came; and to lock the ledger once
  /// costs less than to do so for each statement.
  func answers(_ requests: [FrontRequest]) -> [(next: Answer, asker: AccessToken?)] {
    do {
      return try ledger.snapshot {
        recollection.follow(try ledger.generation())
        return requests.map { request in
          let next = Self.answer { try self.answer(to: request) }
          return (next, asker)
        }
      }
    } catch {
      return requests.map { _ in (.reply(Problem.away.reply), nil) }
    }
  }

  /// What a body answers, or why it does not.
  static func answer(_ body: () throws -> Answer) -> Answer {
    do {
      return try body()
    } catch let problem as Problem {
      return .reply(problem.reply)
    } catch is LedgerError {
      return .reply(Problem.away.reply)
    } catch {
      return .reply(
        Problem(500, "fault", "the answer could not be made", remedy: "the server's log says why").reply)
    }
  }

  private func answer(to request: FrontRequest) throws -> Answer {
    asker = nil
    var request = request
    // For clients that know no others than GET and POST.
    if request.method == "POST", let method = request.field("x-http-method-override") {
      request.method = method.uppercased()
    }
    let found = Route.matching(request.segments, rules)
    if found.isEmpty { throw Problem(404, "no-such-path", "there is nothing at this path") }
    let allowed = found.map(\.route.method)
    if let reply = Dressing(rules).preflight(request, methods: allowed) { return .reply(reply) }
    let method = request.method == "HEAD" && !allowed.contains("HEAD") ? "GET" : request.method
    guard let (route, ids) = found.first(where: { $0.route.method == method }) else {
      let list =
        (allowed + (allowed.contains("GET") ? ["HEAD"] : [])
        + (allowed.contains("OPTIONS") ? [] : ["OPTIONS"])).joined(separator: ", ")
      if method == "OPTIONS" {
        let more = found.contains { $0.route == .postAttachment } ? UploadDraft.options(rules) : []
        return .reply(FrontReply(204, [.init("Allow", list)] + more))
      }
      throw Problem(
        405, "no-such-method", "this path knows no \(method)", fields: [.init("Allow", list)])
    }
    let id = ids.first ?? ""
    let token = try linked(request, route, id) ?? token(of: request, route)
    asker = token
    if let token { prolong(token, at: Clock.now()) }
    if token == nil && !route.parties.contains(.nobody) { throw Problem.unauthorized }
    // What belongs to no user is decided here. What belongs to one is decided once it is found.
    if let token, token.role == .user, route.parties.isDisjoint(with: [.stranger, .participant, .sender]) {
      throw Problem.operatorsOnly
    }
    if let token, token.role == .service, !route.parties.contains(.service) { throw Problem.operatorsOnly }
    try Self.checkQuery(request, route)
    switch route {
    case .version: return .reply(Self.json("{\"version\":\"\(version)\"}"))
    case .openapi: return .reply(Self.json(OpenAPI.text(version: version, rules)))
    case .ready: return .reply(try readiness(isOperator: token.map { $0.role != .user } ?? false))
    case .metrics: return .reply(try metrics())
    case .events: return events(request, token)
    case .report: return .reply(try report(request))
    case .attachments: return .reply(try attachments(request, token))
    case .attachment:
      guard let token else { return .reply(try story(try record(id, route, token), token)) }
      return .reply(
        try recollection.reply(id, to: token) {
          let record = try record(id, route, token)
          // One that is queued becomes due by and by.
          return (try story(record, token), lasts: record.outcome.status.isFinal)
        })
    case .content: return try content(try record(id, route, token), request)
    case .links:
      guard let token else { throw Problem.unauthorized }
      return try links(request, token)
    case .link: return .reply(try link(try record(id, route, token), request))
    case .retryAttachment:
      return change(try record(id, route, token), .retry)
    case .hastenAttachment:
      return try hasten(try record(id, route, token), token)
    case .deleteAttachment:
      return change(try record(id, route, token), .delete(by: token?.name ?? ""))
    case .check:
      guard let token else { throw Problem.unauthorized }
      return try check(request, token)
    case .uploadOptions: return .reply(uploadOptions())
    case .uploads:
      guard let token else { throw Problem.unauthorized }
      return .reply(try openUploads(request, token))
    case .transfers: return .reply(try transfers(request))
    case .lanes: return .reply(try lanes())
    case .deliveries: return .reply(try deliveries(request))
    case .retryDelivery: return try retryDelivery(id)
    case .pauseLane, .resumeLane, .resetLane:
      return try change(lane: id, route, request, token?.name ?? "")
    case .conversations, .conversation, .messages, .message, .receipts:
      guard let token else { throw Problem.unauthorized }
      return .reply(try history(route, ids, request, token))
    case .presence:
      guard let token else { throw Problem.unauthorized }
      return .reply(try presence(token))
    case .search, .sync:
      guard let token else { throw Problem.unauthorized }
      return route == .sync ? try sync(request, token) : try search(request, token)
    case .beginConversation, .renameConversation, .addMember, .removeMember, .writeMessage, .editMessage,
      .deleteMessage, .read, .delivered, .typing, .settings:
      guard let token else { throw Problem.unauthorized }
      return try converse(route, ids, request, token)
    case .signUp, .signIn, .sessions, .endSession, .me, .changeMe, .eraseMe, .users, .user, .setUser,
      .eraseUser:
      return try users(route, ids, request, token)
    case .fetch, .postAttachment, .createUpload, .uploadState, .appendToUpload, .endUpload:
      guard let token else { throw Problem.unauthorized }
      let begins = [.fetch, .postAttachment, .createUpload].contains(route)
      if begins && token.role == .user && rules.uploadsBy == .services { throw Problem.prepared }
      if route == .fetch { return try fetch(request, token) }
      if route == .postAttachment { return try postAttachment(request, token) }
      if route == .createUpload { return try createUpload(request, token) }
      return try upload(id, route, request, token)
    }
  }

  // MARK: Changes

  func change(
    _ record: AttachmentRecord, _ action: AttachmentCommand.Action, only: Set<Status>? = nil
  ) -> Answer {
    let command = AttachmentCommand(record.origin.id, action, only: only)
    return .commands([.attachment(command)]) { results in
      switch results.first {
      case .done(let hasChanged): .reply(Self.json("{\"changed\":\(hasChanged)}"))
      case .refused(let reason): .reply(Problem(409, "refused", reason).reply)
      default: .reply(Problem.away.reply)
      }
    }
  }

  // MARK: Answers

  static func json(_ text: String, _ status: Int = 200) -> FrontReply {
    FrontReply(
      status,
      [
        .init("Content-Type", "application/json"), .init("Cache-Control", "no-store"),
        .init("X-Content-Type-Options", "nosniff"),
      ], .bytes(Array((text + "\n").utf8)))
  }

  /// It takes work where what is sent finds room, and is worked on.
  private func readiness(isOperator: Bool) throws -> FrontReply {
    let paused = try ledger.status().lanes.filter { $0.pause != nil }
    let hasRoom = uploads.hasRoom
    let isReady = hasRoom && !paused.contains { $0.name == .attachments }
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("ready", isReady)
      if !hasRoom { writer.member("uploads", "no-room") }
      // Why a lane stands still is the operator's to know.
      writer.key("paused")
      writer.array { writer in
        for lane in paused {
          writer.object { writer in
            writer.member("lane", lane.name.description)
            if isOperator {
              writer.member("code", lane.pause?.code)
              writer.member("reason", lane.pause?.reason)
            }
          }
        }
      }
    }
    return Self.json(writer.text, isReady ? 200 : 503)
  }
}
