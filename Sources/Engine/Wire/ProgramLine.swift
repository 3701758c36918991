import Bytes
import Pipeline

/// A line that a stage's program says: an object of JSON, whose members are taken in their order.
public enum ProgramLine {
  /// The longest line, in bytes, without its newline.
  public static let limit = 64 << 10

  /// One thing that is said.
  public enum Statement: Sendable, Equatable {
    /// Open, and ready for attachments.
    case ready
    /// What its words rest on, where it promises to say the same of equal content.
    case repeatable(String)
    /// It cannot be what it is asked to be; with the reason.
    case refuse(String)
    case annotate(key: String, MetadataValue)
    case mediaType(String)
    /// What is left in the descriptor for it is the new content.
    case produce
    /// The next bytes in that descriptor are an object beside the content.
    case derive(name: String, mediaType: String, bytes: Int64)
    /// The next bytes in that descriptor are a content that was inside the content.
    case child(name: String, mediaType: String?, bytes: Int64)
    case log(LogLevel, String)
    case progress(Double)
    /// With a verdict of retry: milliseconds to wait.
    case retryAfter(Int64)
    /// With a verdict of retry: the fault is the place's.
    case pause
    /// The last that is said of an attachment.
    case verdict(Verdict, code: String?, message: String?)
  }

  /// What is wrong with a line.
  public struct Flaw: Error, Sendable, Equatable {
    public let reason: String

    /// - Parameter reason: it may quote what the program said: control characters in it are replaced.
    init(_ reason: String) {
      let scalars = reason.unicodeScalars.map { scalar -> Unicode.Scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
        default: scalar
        }
      }
      self.reason = String(String.UnicodeScalarView(scalars))
    }
  }

  /// What a line says. A verdict comes last, wherever it stands.
  public static func read(_ line: some Collection<UInt8>) throws(Flaw) -> [Statement] {
    guard let value = JSONValue(line) else {
      throw Flaw("a line that is not JSON\(freeText): \(shown(line))")
    }
    guard case .object(let members) = value else {
      throw Flaw("\(value.noun) in place of an object\(freeText)")
    }
    var statements: [Statement] = []
    var (verdict, code, message): (Verdict?, String?, String?)
    var level = LogLevel.info
    var entry: String?
    var piece = PieceMembers()
    for member in members {
      let name = member.name
      // The functions of the contract take texts that end with one.
      if member.value.hasNUL { throw Flaw("a text with a NUL character under '\(name)'") }
      switch (name, member.value) {
      case ("ready", .boolean(true)): statements.append(.ready)
      case ("repeatable", .text(let basis)): statements.append(.repeatable(basis))
      case ("refuse", .text(let reason)): statements.append(.refuse(reason))
      case ("annotate", .object(let data)):
        for datum in data { statements.append(try annotation(datum)) }
      case ("mediaType", .text(let type)): statements.append(.mediaType(type))
      case ("produce", .boolean(true)): statements.append(.produce)
      case ("derive", .text(let text)): piece.derive = text
      case ("child", .text(let text)): piece.child = text
      case ("type", .text(let text)): piece.type = text
      case ("bytes", .integer(let count)): piece.bytes = count
      case ("log", .text(let text)): entry = text
      case ("level", .text(let text)):
        guard let known = LogLevel.allCases.first(where: { $0.name == text }) else {
          throw Flaw("the level '\(text)', where there are debug, info, warning and error")
        }
        level = known
      case ("progress", .integer(let whole)): statements.append(.progress(Double(whole)))
      case ("progress", .number(let fraction)): statements.append(.progress(fraction))
      case ("retryAfter", .integer(let milliseconds)): statements.append(.retryAfter(milliseconds))
      case ("pause", .boolean(true)): statements.append(.pause)
      case ("verdict", .text(let text)):
        guard let known = Verdict.allCases.first(where: { $0.name == text }) else {
          throw Flaw("the verdict '\(text)', where there are pass, reject, retry and fail")
        }
        verdict = known
      case ("code", .text(let text)): code = text
      case ("message", .text(let text)): message = text
      default:
        guard let wanted = forms[name] else {
          throw Flaw("a member '\(name)', where there are \(forms.keys.sorted().joined(separator: ", "))")
        }
        throw Flaw("\(member.value.noun) as '\(name)', which is \(wanted)")
      }
    }
    if let statement = try piece.statement { statements.append(statement) }
    if let entry { statements.append(.log(level, entry)) }
    if let verdict { statements.append(.verdict(verdict, code: code, message: message)) }
    return statements
  }

  /// Before what is shown of a line: a secret that is cut at the end of a text is known by its beginning.
  private static let freeText = " (text for people goes to standard error, or under 'log')"

  /// The members there are, and what each is.
  private static let forms = [
    "ready": "true", "repeatable": "a text", "refuse": "a text", "annotate": "an object",
    "mediaType": "a text",
    "produce": "true", "derive": "a text", "child": "a text", "type": "a text",
    "bytes": "a whole number", "log": "a text", "level": "a text", "progress": "a number from 0 to 1",
    "retryAfter": "a whole number of milliseconds", "pause": "true", "verdict": "a text", "code": "a text",
    "message": "a text",
  ]

  /// The members that make a statement together.
  private struct PieceMembers {
    var derive: String?
    var child: String?
    var type: String?
    var bytes: Int64?

    /// `nil`: the line has none of them.
    var statement: Statement? {
      get throws(Flaw) {
        switch (derive, child) {
        case (nil, nil):
          if type != nil { throw Flaw("'type' without 'derive' or 'child'") }
          if bytes != nil { throw Flaw("'bytes' without 'derive' or 'child'") }
          return nil
        case (let name?, nil):
          guard let type else { throw Flaw("'derive' without 'type', the media type of the object") }
          return .derive(name: name, mediaType: type, bytes: try count("derive"))
        case (nil, let name?): return .child(name: name, mediaType: type, bytes: try count("child"))
        case (.some, .some): throw Flaw("'derive' and 'child' in one line")
        }
      }
    }

    private func count(_ member: String) throws(Flaw) -> Int64 {
      guard let bytes else { throw Flaw("'\(member)' without 'bytes', the number of them in descriptor 4") }
      guard bytes >= 0 else { throw Flaw("\(bytes) as 'bytes', which is at least 0") }
      return bytes
    }
  }

  private static func annotation(_ member: JSONValue.Member) throws(Flaw) -> Statement {
    let value: MetadataValue =
      switch member.value {
      case .text(let text): .text(text)
      case .integer(let number): .integer(number)
      case .number(let number): .number(number)
      case .boolean(let value): .boolean(value)
      case .null, .array, .object:
        throw Flaw(
          "\(member.value.noun) as '\(member.name)' under 'annotate', which takes texts, numbers and booleans"
        )
      }
    return .annotate(key: member.name, value)
  }

  /// The beginning of a line, for a message.
  private static func shown(_ line: some Collection<UInt8>) -> String {
    // Nothing follows: of a secret that is cut at the end the beginning is known.
    String(decoding: line.prefix(80), as: UTF8.self)
  }
}

extension JSONValue {
  /// Whether a text or a name in it has a NUL character.
  fileprivate var hasNUL: Bool {
    switch self {
    case .null, .boolean, .integer, .number: false
    case .text(let text): text.utf8.contains(0)
    case .array(let values): values.contains(where: \.hasNUL)
    case .object(let members): members.contains { $0.name.utf8.contains(0) || $0.value.hasNUL }
    }
  }
}
