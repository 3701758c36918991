import LedgerPort
import Pipeline
import Wire

/// The messages between client and coordinator: four bytes of length, then the message, encoded like the
/// frames of workers.
///
/// The coordinator welcomes a client when it accepts it. Then the client sends commands, and gets one answer for
/// each message, once they are on record. Before it disconnects a client, the coordinator sends the
/// reason.
enum ControlMessage {
  /// The longest message, in bytes. A line of a manifest has at most a megabyte.
  static let limit = 4 << 20
  /// Commands in one message, which is one transaction of the ledger; and files in one command.
  static let commandLimit = 2000
  static let itemLimit = 500
  /// The longest text of an answer, or of a command that is not about files, in bytes.
  private static let textLimit = 4096
  /// The longest link, in bytes.
  private static let linkLimit = 8192

  /// What a command is, before what it says.
  private enum Kind: UInt8 {
    case takeIn = 1, pause, resume, hasten, attachment, delivery, refresh, token, endUpload, user,
      conversation
  }

  /// What a result is, before what it says.
  private enum Result: UInt8 {
    case takenIn = 1, done, refused
  }

  // MARK: Commands

  static func commands(_ commands: [Command]) -> [UInt8] {
    var writer = FrameWriter(.commands)
    writer.write(commands) { writer, command in
      switch command {
      case .takeIn(let items):
        writer.write(Kind.takeIn.rawValue)
        writer.write(items) { writer, item in
          var item = item
          item.visit(&writer)
        }
      case .lane(let command):
        let lane = command.lane.description
        switch command.action {
        case .pause(let pause):
          writer.write(Kind.pause.rawValue)
          for text in [lane, pause.code, pause.reason, pause.by] { writer.write(text) }
        case .resume:
          writer.write(Kind.resume.rawValue)
          writer.write(lane)
        case .hasten:
          writer.write(Kind.hasten.rawValue)
          writer.write(lane)
        }
      case .attachment(let command):
        writer.write(Kind.attachment.rawValue)
        write(command, &writer)
      case .delivery(let command):
        writer.write(Kind.delivery.rawValue)
        writer.write(command.key)
        writer.write(command.deliveryId)
        writer.write(command.action == .drop)
      case .refresh(let command):
        writer.write(Kind.refresh.rawValue)
        writer.write(command.attachmentId)
        writer.write(command.url)
        writer.write(command.expiresAt != nil)
        writer.write(command.expiresAt ?? 0)
      case .token(let command):
        writer.write(Kind.token.rawValue)
        write(command, &writer)
      case .user(let command):
        writer.write(Kind.user.rawValue)
        write(command, &writer)
      case .conversation(let command):
        writer.write(Kind.conversation.rawValue)
        write(command, &writer)
      case .record: break  // The server alone asks for it, and is in the coordinator.
      case .upload(let command):
        // Others than the server end uploads, and do nothing else with them.
        writer.write(Kind.endUpload.rawValue)
        writer.write(command.id)
      }
    }
    return writer.bytes
  }

  private static func write(_ command: TokenCommand, _ writer: inout FrameWriter) {
    switch command.action {
    // Only the coordinator signs users out.
    case .revoke, .signOut:
      writer.write(false)
      writer.write(command.id)
    case .add(let hash, let name, let role, let expiresAt):
      writer.write(true)
      hash.withUnsafeBytes { writer.write($0) }
      writer.write(name)
      writer.write(role.rawValue)
      writer.write(expiresAt != nil)
      writer.write(expiresAt ?? 0)
    }
  }

  private static func tokenCommand(_ reader: inout FrameReader) throws(FrameError) -> TokenCommand {
    guard try reader.boolean() else { return .revoke(try text(&reader)) }
    guard let hash = try reader.textBytes(), hash.count == 32 else {
      throw FrameError("the hash of a token that is none")
    }
    let (name, role) = (try text(&reader), try text(&reader))
    guard !name.isEmpty, let role = AccessToken.Role(rawValue: role) else {
      throw FrameError("a token without a name, or with a role that is none")
    }
    let (isLimited, time) = (try reader.boolean(), try reader.integer(Int64.self))
    return .add(hash: [UInt8](hash), name: name, role: role, expiresAt: isLimited ? time : nil)
  }

  /// What an attachment's command is.
  private enum Action: UInt8 {
    case retry = 1, cancel, prioritize, delete, reprocess
  }

  private static func write(_ command: AttachmentCommand, _ writer: inout FrameWriter) {
    writer.write(command.attachmentId)
    writer.write(command.only.map { $0.map(\.rawValue).sorted().joined(separator: ",") })
    switch command.action {
    case .retry: writer.write(Action.retry.rawValue)
    case .reprocess: writer.write(Action.reprocess.rawValue)
    case .cancel(let reason):
      writer.write(Action.cancel.rawValue)
      writer.write(reason)
    case .prioritize(let priority):
      writer.write(Action.prioritize.rawValue)
      writer.write(priority)
    case .delete(let person, let isRetention):
      writer.write(Action.delete.rawValue)
      writer.write(person)
      writer.write(isRetention)
    }
  }

  private static func attachmentCommand(_ reader: inout FrameReader) throws(FrameError) -> AttachmentCommand {
    let id = try text(&reader)
    var only: Set<Status>?
    if let names = try reader.text(atMost: textLimit) {
      var statuses: Set<Status> = []
      for name in names.split(separator: ",") {
        guard let status = Status(rawValue: String(name)) else { throw FrameError("'\(name)' is no status") }
        statuses.insert(status)
      }
      only = statuses
    }
    let action: AttachmentCommand.Action
    switch Action(rawValue: try reader.integer(UInt8.self)) {
    case .retry: action = .retry
    case .reprocess: action = .reprocess
    case .cancel: action = .cancel(try text(&reader))
    case .prioritize: action = .prioritize(try reader.integer(Int64.self))
    case .delete: action = .delete(by: try text(&reader), isRetention: try reader.boolean())
    case nil: throw FrameError("an unknown command about an attachment")
    }
    return AttachmentCommand(id, action, only: only)
  }

  /// Bytes that a file takes in a message, at most.
  static func size(of item: IntakeItem) -> Int {
    var size = FieldSizes()
    var item = item
    item.visit(&size)
    return size.bytes
  }

  /// What a client sends. A pause is a person's.
  static func readCommands(_ message: UnsafeRawBufferPointer) throws(FrameError) -> [Command] {
    var reader = FrameReader(message)
    guard try reader.kind() == .commands else { throw FrameError("a message that has no place here") }
    let commands = try reader.elements(atMost: commandLimit) { (reader) throws(FrameError) -> Command in
      switch Kind(rawValue: try reader.integer(UInt8.self)) {
      case .takeIn:
        return .takeIn(
          try reader.elements(atMost: itemLimit) { (reader) throws(FrameError) -> IntakeItem in
            var item = IntakeItem()
            try item.visit(&reader)
            return item
          })
      case .pause:
        let lane = try lane(&reader)
        let (code, reason, by) = (try text(&reader), try text(&reader), try text(&reader))
        return .lane(LaneCommand(lane, .pause(Pause(.person, code: code, reason: reason, by: by))))
      case .resume: return .lane(LaneCommand(try lane(&reader), .resume(nil)))
      case .hasten: return .lane(LaneCommand(try lane(&reader), .hasten))
      case .attachment: return .attachment(try attachmentCommand(&reader))
      case .delivery:
        let (key, id) = (try reader.integer(Int64.self), try text(&reader))
        return .delivery(DeliveryCommand(key: key, id, try reader.boolean() ? .drop : .retry))
      case .refresh:
        let (id, url) = (try text(&reader), try reader.requiredText(atMost: linkLimit))
        let (isLimited, time) = (try reader.boolean(), try reader.integer(Int64.self))
        return .refresh(RefreshCommand(id, url: url, expiresAt: isLimited ? time : nil))
      case .endUpload: return .upload(.end(id: try text(&reader)))
      case .token: return .token(try tokenCommand(&reader))
      case .user: return .user(try userCommand(&reader))
      case .conversation: return .conversation(try conversationCommand(&reader))
      case nil: throw FrameError("an unknown command")
      }
    }
    try reader.end()
    return commands
  }

  private static func text(_ reader: inout FrameReader) throws(FrameError) -> String {
    try reader.requiredText(atMost: textLimit)
  }

  private static func lane(_ reader: inout FrameReader) throws(FrameError) -> LaneName {
    let text = try text(&reader)
    guard let lane = LaneName(text) else { throw FrameError("'\(text)' is no lane") }
    return lane
  }

  // MARK: Answers

  static func results(_ results: [CommandResult]) -> [UInt8] {
    var writer = FrameWriter(.results)
    writer.write(results) { write($1, &$0) }
    return writer.bytes
  }

  private static func write(_ result: CommandResult, _ writer: inout FrameWriter) {
    switch result {
    case .takenIn(let report):
      writer.write(Result.takenIn.rawValue)
      writer.write(UInt32(clamping: report.added))
      writer.write(UInt32(clamping: report.known))
      writer.write(UInt32(clamping: report.knownNotCompleted))
      writer.write(UInt32(clamping: report.knownDeleted))
      writer.write(report.problems) { writer, problem in
        for text in [problem.origin, problem.path, problem.message, problem.kind] { writer.write(text) }
      }
      writer.write(report.outcomes) { $0.write($1) }
    case .done(let hasChanged):
      writer.write(Result.done.rawValue)
      writer.write(hasChanged)
    case .refused(let reason):
      writer.write(Result.refused.rawValue)
      writer.write(reason)
    // The client reads the rest in the ledger.
    case .user(.user(_, let hasChanged)): write(.done(hasChanged: hasChanged), &writer)
    case .user(.erased(let isWhole)): write(.done(hasChanged: !isWhole), &writer)
    case .user(.refused(let refusal)): write(.refused(refusal.sentence), &writer)
    case .conversation(let result): write(result.outcome, &writer)
    }
  }

  static func welcome() -> [UInt8] { FrameWriter(.welcome).bytes }

  /// Reads the coordinator's first message: whether the client is accepted.
  static func letsIn(_ message: UnsafeRawBufferPointer) throws(FrameError)
    -> Swift.Result<Void, ControlRefusal>
  {
    var reader = FrameReader(message)
    switch try reader.kind() {
    case .welcome: return .success(())
    case .declined: return .failure(ControlRefusal(reason: try reader.requiredText(atMost: textLimit)))
    default: throw FrameError("a message that has no place here")
    }
  }

  static func declined(_ reason: String) -> [UInt8] {
    var writer = FrameWriter(.declined)
    writer.write(reason)
    return writer.bytes
  }

  /// Reads the coordinator's answer: the results, or why it disconnects the client.
  static func answer(
    _ message: UnsafeRawBufferPointer
  ) throws(FrameError) -> Swift.Result<[CommandResult], ControlRefusal> {
    var reader = FrameReader(message)
    switch try reader.kind() {
    case .declined: return .failure(ControlRefusal(reason: try reader.requiredText(atMost: textLimit)))
    case .results: break
    default: throw FrameError("a message that has no place here")
    }
    let results = try reader.elements(atMost: commandLimit) { (reader) throws(FrameError) -> CommandResult in
      switch Result(rawValue: try reader.integer(UInt8.self)) {
      case .takenIn: return .takenIn(try report(&reader))
      case .done: return .done(hasChanged: try reader.boolean())
      case .refused: return .refused(try reader.requiredText(atMost: limit))
      case nil: throw FrameError("an unknown result")
      }
    }
    try reader.end()
    return .success(results)
  }

  private static func report(_ reader: inout FrameReader) throws(FrameError) -> IntakeReport {
    var report = IntakeReport()
    report.added = Int(try reader.integer(UInt32.self))
    report.known = Int(try reader.integer(UInt32.self))
    report.knownNotCompleted = Int(try reader.integer(UInt32.self))
    report.knownDeleted = Int(try reader.integer(UInt32.self))
    report.problems = try reader.elements(atMost: itemLimit) { (reader) throws(FrameError) in
      let (origin, path) = (try reader.requiredText(atMost: limit), try reader.text(atMost: limit))
      let message = try reader.requiredText(atMost: limit)
      return IntakeProblem(origin, path: path, message, kind: try reader.text(atMost: limit))
    }
    report.outcomes = try reader.elements(atMost: itemLimit) { (reader) throws(FrameError) in
      try reader.outcome()
    }
    return report
  }

  /// A message with its length before it.
  static func framed(_ message: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(message.count).littleEndian) { Array($0) } + message
  }
}

/// Why a coordinator does not serve a client.
public struct ControlRefusal: Error, Sendable, CustomStringConvertible {
  public var reason: String
  public var description: String { reason }
}

/// Collects bytes until they form messages.
struct ControlInbox {
  private var bytes: [UInt8] = []

  mutating func append(_ piece: UnsafeRawBufferPointer) { bytes.append(contentsOf: piece) }

  /// Takes out the first complete message; `nil`: more bytes are needed.
  mutating func next() throws(FrameError) -> [UInt8]? {
    guard bytes.count >= 4 else { return nil }
    let length = Int(UInt32(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }))
    guard length <= ControlMessage.limit else {
      throw FrameError("a message of \(length) bytes where \(ControlMessage.limit) are allowed")
    }
    guard bytes.count >= 4 + length else { return nil }
    let message = Array(bytes[4..<(4 + length)])
    bytes.removeSubrange(..<(4 + length))
    return message
  }
}
