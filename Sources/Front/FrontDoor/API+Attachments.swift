import FrontWire
import Glibc
import HomeFolder
import LedgerPort
import Objects
import Pipeline
import Platform

extension API {
  // MARK: Lists

  private static let defaultLimit = 50
  private static let mostRows = 200
  /// Pages that are looked through for one answer: of many attachments few may be the asker's.
  private static let mostPages = 20

  /// The attachments that answer to the parameters; of a user, those it takes part in.
  func attachments(_ request: FrontRequest, _ token: AccessToken?) throws -> FrontReply {
    var (filter, asked, mark) = try Self.filter(request, .attachments, atMost: Self.mostRows)
    let limit = asked ?? Self.defaultLimit
    if let token, token.role == .user { filter.participant = token.name }
    var rows: [AttachmentRecord] = []
    for _ in 0..<Self.mostPages {
      let page = try page(filter, after: mark, limit: limit - rows.count)
      rows += page.rows
      mark = page.next
      if mark == nil || rows.count == limit { break }
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.key("attachments")
      writer.array { writer in
        for row in rows {
          writer.object { row.write(to: &$0, isForUser: token?.role == .user) }
        }
      }
      writer.member("next", mark?.text)
    }
    return Self.json(writer.text)
  }

  private func page(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws -> Page<AttachmentRecord> {
    do throws(LedgerError) {
      return try ledger.attachments(filter, after: mark, limit: limit)
    } catch {
      // The text of a mark is the client's.
      if mark == nil || error.code != .other { throw error }
      throw Self.noMark
    }
  }

  /// What a query says of attachments, and perhaps how many and which page are wanted.
  ///
  /// - Parameter most: that the limit may be.
  static func filter(
    _ request: FrontRequest, _ route: Route, atMost most: Int
  ) throws -> (AttachmentFilter, limit: Int?, PageMark?) {
    var filter = AttachmentFilter()
    var statuses: Set<Status> = []
    var limit: Int?
    var mark: PageMark?
    let now = Clock.now()
    func time(_ pair: FrontRequest.Pair) throws -> Int64 {
      if let time = AttachmentFilter.time(pair.value, now) { return time }
      throw invalid(pair.name, "is a time, such as 2h (ago), 2026-01-31 or 2026-01-31T08:00:00Z")
    }
    func size(_ pair: FrontRequest.Pair) throws -> Int64 {
      if let size = ByteSize(pair.value)?.bytes ?? Int64(pair.value), size >= 0 { return size }
      throw invalid(pair.name, "is a number of bytes, or a size such as 500KB or 10MB")
    }
    for pair in request.query {
      switch pair.name {
      case "status":
        for name in pair.value.split(separator: ",", omittingEmptySubsequences: false) {
          guard let status = Status(rawValue: String(name)) else {
            throw invalid("status", "is one of \(Status.allCases.map(\.rawValue).joined(separator: ", "))")
          }
          statuses.insert(status)
        }
      case "code": filter.codes = try codes(pair.value)
      case "stage": filter.stage = pair.value
      case "type": filter.mediaType = AttachmentFilter.glob(pair.value.lowercased())
      case "conversation": filter.conversationId = pair.value
      case "message": filter.messageId = pair.value
      case "sender": filter.senderId = pair.value
      case "reference": filter.reference = pair.value
      case "parent": filter.parentId = pair.value.lowercased()
      case "name": filter.fileName = AttachmentFilter.glob(pair.value)
      case "minSize": filter.minimumSize = try size(pair)
      case "maxSize": filter.maximumSize = try size(pair)
      case "since": filter.since = try time(pair)
      case "until": filter.until = try time(pair)
      case "sha256":
        guard pair.value.utf8.count == 64, let bytes = Hexadecimal.bytes(pair.value.lowercased()) else {
          throw invalid("sha256", "is 64 hexadecimal digits")
        }
        filter.sha256 = bytes
      case "limit":
        guard let number = Int(pair.value), (1...most).contains(number) else {
          throw invalid("limit", "is a number from 1 to \(most)")
        }
        limit = number
      case "after" where route == .attachments: mark = PageMark(pair.value)
      case "order" where route == .attachments:
        guard ["oldest", "newest"].contains(pair.value) else {
          throw invalid("order", "is oldest or newest: which are first")
        }
        filter.isNewestFirst = pair.value == "newest"
      default:
        throw Problem.noSuchParameter(pair.name, route)
      }
    }
    if !statuses.isEmpty { filter.statuses = statuses }
    return (filter, limit, mark)
  }

  /// A parameter that is not known may be a mistake in a name. Of one that is there twice, two programs may take two values.
  static func checkQuery(_ request: FrontRequest, _ route: Route) throws(Problem) {
    if request.query.isEmpty { return }
    let names = route.parameters.map(\.name)
    // Pages add to the links of contents what they like, and probes to what is not under /v1.
    if route.path.hasPrefix("/v1/") && route != .content {
      for pair in request.query where !names.contains(pair.name) {
        throw Problem.noSuchParameter(pair.name, route)
      }
    }
    for name in names where request.query.count(where: { $0.name == name }) > 1 {
      throw invalid(name, "is there more than once")
    }
  }

  /// The codes that a parameter names, with commas between them.
  static func codes(_ text: String) throws(Problem) -> Set<String> {
    do {
      return try CodeList(text).codes
    } catch {
      switch error {
      case .empty:
        throw invalid("code", "has an empty element; it is a code, or several with one comma between them")
      case .impossible(let word):
        throw invalid("code", "has '\(word)', which no code is: codes are printable ASCII without spaces")
      }
    }
  }

  static func invalid(_ name: String, _ rule: String) -> Problem {
    Problem(400, "invalid-parameter", "'\(name)' \(rule)")
  }

  // MARK: One

  /// Has its link fetched before all others; for a user ahead of the queue, where others' transfers go on beside it. Nothing changes
  /// where it has no link, or has ended.
  func hasten(_ record: AttachmentRecord, _ token: AccessToken?) throws -> Answer {
    if try ledger.transfer(ofAttachment: record.key) == nil {
      return .reply(Self.json(#"{"changed":false}"#))
    }
    let priority = token?.role == .user ? TransferPriority.hastened : TransferPriority.urgent
    return change(record, .prioritize(priority), only: [.queued])
  }

  /// An attachment with its history and its place in the queue.
  func story(_ record: AttachmentRecord, _ token: AccessToken?) throws -> FrontReply {
    let (attempts, place, transfer) = try ledger.snapshot {
      (
        try ledger.attempts(of: record.key), try ledger.place(of: record.key),
        try ledger.transfer(ofAttachment: record.key)
      )
    }
    let now = Clock.now()
    var writer = JSONWriter()
    writer.object { writer in
      record.write(to: &writer, isForUser: token?.role == .user)
      writer.member("createdAt", Clock.timestamp(record.createdAt))
      writer.member("finishedAt", record.finishedAt.map(Clock.timestamp))
      writer.key("attempts")
      writer.array { writer in
        for attempt in attempts {
          writer.object { attempt.write(to: &$0, isForUser: token?.role == .user) }
        }
      }
      if let transfer {
        writer.key("transfer")
        writer.object { writer in
          writer.member("state", transfer.state.rawValue)
          writer.member("bytes", transfer.bytes)
          writer.member("total", transfer.total)
        }
      }
      writer.key("queue")
      guard let place else { return writer.value(nil as String?) }
      writer.object { writer in
        writer.member("state", place.state.rawValue)
        writer.member("dueAt", place.nextDue > 0 ? Clock.timestamp(now + place.nextDue) : nil)
        writer.member("attempts", Int64(place.attempts))
      }
    }
    return Self.json(writer.text)
  }

  // MARK: Content

  /// Where the content of an attachment lies: while a completed one is worked on again, that which it keeps. Where it ended otherwise
  /// since, what it keeps is for operators alone.
  private func object(of record: AttachmentRecord) throws -> (path: String, sha256: [UInt8])? {
    if let path = record.outcome.url, let sha256 = record.outcome.sha256 { return (path, sha256) }
    guard record.outcome.status == .queued, record.keptObject != nil else { return nil }
    return try ledger.object(ofAttachment: record.origin.id).map { ($0.url, $0.sha256) }
  }

  /// An object beside that of a completed attachment, as if it were one of its own.
  private static func derived(_ name: String, of record: AttachmentRecord) throws -> AttachmentRecord {
    guard let object = record.outcome.derived.first(where: { $0.name == name }) else {
      let names = record.outcome.derived.map(\.name).joined(separator: ", ")
      throw Problem(
        404, "no-such-object",
        names.isEmpty
          ? "no stage has derived anything from it" : "it has no such derived object; there are: \(names)")
    }
    var outcome = record.outcome
    (outcome.mediaType, outcome.sizeBytes) = (object.mediaType, object.sizeBytes)
    (outcome.sha256, outcome.url, outcome.metadata) = (object.sha256, object.url, "{}")
    let origin = record.origin.replacing(
      fileName: "\(record.origin.fileName).\(name).\(PathTemplate.fileExtension(for: object.mediaType))")
    return AttachmentRecord(
      key: record.key, origin, source: record.source, outcome, createdAt: record.createdAt,
      finishedAt: record.finishedAt, steps: [])
  }

  /// The encoding of a text, as it was found; `nil`: that was not sure. What stages write is UTF-8, and so are most texts.
  private static func charset(of record: AttachmentRecord) -> String? {
    let metadata = Metadatum.read(record.outcome.metadata) ?? []
    if metadata.contains(where: { $0.key == "original.sha256" }) { return "utf-8" }
    guard case .text(let name)? = metadata.first(where: { $0.key == "mime.charset" })?.value else {
      return "utf-8"
    }
    let isToken = name.utf8.allSatisfy {
      0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
    }
    return isToken && !["unknown", "utf-7"].contains(name) ? name : nil
  }

  /// The content of an attachment or of a derived object, or the part that is asked for.
  func content(_ record: AttachmentRecord, _ request: FrontRequest) throws -> Answer {
    let name = request.query.first { $0.name == "derived" }?.value
    let record = try name.map { try Self.derived($0, of: record) } ?? record
    guard let (path, sha256) = try object(of: record) else {
      if record.outcome.status == .queued {
        throw Problem(
          404, "not-ready", "it is still being worked on", remedy: "ask again, or listen for its event",
          fields: [.init("Retry-After", "1")])
      }
      throw Problem(
        404, "no-content", "it is \(record.outcome.status.rawValue), and no content of it was kept")
    }
    let file = try open(path, of: record.origin.id, sha256)
    var facts = stat()
    guard fstat(file.number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
      record.outcome.url == nil || Int64(facts.st_size) == record.outcome.sizeBytes
    else {
      throw Self.damaged
    }
    let storedAt = record.outcome.url == nil ? nil : record.finishedAt
    guard objects.isWhole(file, facts, sha256: sha256, storedAt: storedAt) else { throw Self.damaged }
    let isEncoded = try Self.isEncoded(request)
    let validators = Conditions.Validators(
      tag: "\"sha256-\(Hexadecimal.text(sha256))\(isEncoded ? "-base64" : "")\"",
      modified: Int((record.finishedAt ?? record.createdAt) / 1000),
      size: Int64(facts.st_size))
    let own: [FrontRequest.Pair] = [
      .init("ETag", validators.tag), .init("Last-Modified", Self.date(validators.modified)),
    ]
    if isEncoded {
      // The letters of a part are not a part of the letters.
      var plain = request
      plain.fields.removeAll { $0.name == "range" }
      switch Conditions.outcome(plain, validators) {
      case .unchanged: return .reply(FrontReply(304, own + [.init("Cache-Control", "private, no-cache")]))
      case .failed: throw Self.changed
      default:
        let fields = ContentFields.all(
          mediaType: "text/plain", fileName: record.origin.fileName + ".b64", isDownload: false)
        return .file(
          FrontReply(
            200, fields.filter { $0.name != "Accept-Ranges" } + own,
            .file(0..<validators.size, isEncoded: true)), file)
      }
    }
    let isDownload = try Self.isDownload(request)
    let fields =
      ContentFields.all(
        mediaType: record.outcome.mediaType, charset: Self.charset(of: record),
        fileName: record.origin.fileName, isDownload: isDownload, keepingTime: Self.keepingTime(request))
      + own
    switch Conditions.outcome(request, validators) {
    case .whole: return .file(FrontReply(200, fields, .file(0..<validators.size)), file)
    case .part(let range):
      let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(validators.size)"
      return .file(FrontReply(206, fields + [.init("Content-Range", place)], .file(range)), file)
    case .unchanged:
      return .reply(FrontReply(304, own + [ContentFields.cacheControl(Self.keepingTime(request))]))
    case .failed: throw Self.changed
    case .unsatisfiable:
      throw Problem(
        416, "no-such-range", "the content has \(validators.size) bytes",
        fields: [.init("Content-Range", "bytes */\(validators.size)")])
    }
  }

  private static let changed = Problem(
    412, "changed", "the content is another than the one that was asked for")

  /// Whether the content is to be saved, and not shown.
  static func isDownload(_ request: FrontRequest) throws -> Bool {
    let values = request.query.filter { $0.name == "download" }.map(\.value)
    if values.isEmpty || values == ["0"] { return false }
    if values == ["1"] { return true }
    throw invalid("download", "is 0 or 1, once")
  }

  /// Whether the content is asked for in the letters of Base64.
  static func isEncoded(_ request: FrontRequest) throws -> Bool {
    let values = request.query.filter { $0.name == "encoding" }.map(\.value)
    if values.isEmpty { return false }
    if values == ["base64"] { return true }
    throw invalid("encoding", "is base64, or is left out")
  }

  private func open(_ path: String, of id: String, _ sha256: [UInt8]) throws -> SharedDescriptor {
    do throws(SystemError) {
      let root = try Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY)
      let store = FileStore(root: root.number, home.storePath)
      guard let file = try store.open(path, of: id, sha256: sha256) else {
        throw SystemError(path, code: ENOENT)
      }
      return SharedDescriptor(file)
    } catch {
      throw Self.damaged
    }
  }

  private static let damaged = Problem(
    500, "damaged", "the content is not in the store as it was", remedy: "`sluice verify` tells more")

  static func date(_ seconds: Int) -> String {
    var (time, parts) = (seconds, tm())
    gmtime_r(&time, &parts)
    var text = [CChar](repeating: 0, count: 40)
    strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
