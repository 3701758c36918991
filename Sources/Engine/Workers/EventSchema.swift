import Pipeline
import Platform

/// A JSON Schema (json-schema.org, draft 2020-12) of events as channels deliver them; see ``EventBody``.
///
/// Within a version members are added, and none is taken away or changes its meaning. What reads events ignores members
/// that it does not know.
public enum EventSchema {
  public static let version = 1
  /// Names the schema and its version.
  public static let id = "urn:sluice:schema:event:\(version)"

  /// The schema, with a newline at its end.
  public static var text: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("$schema", "https://json-schema.org/draft/2020-12/schema")
      writer.member("$id", id)
      writer.member("title", "An event of Sluice, version \(version)")
      write(
        event, "One event for one recipient. The same event has the same bytes at each attempt.", to: &writer)
    }
    return writer.text + "\n"
  }

  /// A member of an object.
  private struct Member {
    var name: String
    var help: String
    var type: Kind
    var isRequired = true
  }

  private enum Kind {
    /// `pattern`: of all of it; `nil`: any text.
    case text(pattern: String? = nil, isNullable: Bool = false)
    case choice([String])
    /// A whole number of 0 or more, or null.
    case count
    /// Texts, numbers and truth values by key.
    case values
    case object([Member], isNullable: Bool = false)
    case list(of: [Member])
  }

  private static let event = [
    Member(
      name: "id", help: "Never changes, however often delivery is tried; it is the first member.",
      type: .text(pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")),
    Member(
      name: "type",
      help:
        "attachment.completed, attachment.rejected, attachment.failed, attachment.cancelled, or another that a stage at the end emits.",
      type: .text()),
    Member(
      name: "timestamp", help: "When the outcome was recorded: RFC 3339 in UTC, with milliseconds.",
      type: .text(pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$")),
    Member(name: "data", help: "The attachment, and who is told of it.", type: .object(data)),
  ]

  private static let data = [
    Member(
      name: "recipientId", help: "Who is told. Chosen by the sender, as are the ids below.", type: .text()),
    Member(name: "attachmentId", help: "A UUID of version 7: ids sort by time.", type: .text()),
    Member(name: "conversationId", help: "The conversation that the message belongs to.", type: .text()),
    Member(name: "messageId", help: "The message that it came with.", type: .text()),
    Member(name: "senderId", help: "Who sent it.", type: .text()),
    Member(name: "fileName", help: "As the sender gave it: hostile.", type: .text()),
    Member(
      name: "reference", help: "The client's own name for it, where it gave one.",
      type: .text(isNullable: false),
      isRequired: false),
    Member(
      name: "traceparent",
      help: "Of the request that brought it, as in W3C Trace Context, where that had one.",
      type: .text(isNullable: false), isRequired: false),
    Member(
      name: "parentId", help: "The attachment that its content was taken out of, where it was.",
      type: .text(isNullable: false), isRequired: false),
    Member(
      name: "status", help: "How it ended.",
      type: .choice(Status.allCases.filter(\.isFinal).map(\.rawValue))),
    Member(
      name: "mediaType", help: "As found in the content; null: not known.", type: .text(isNullable: true)),
    Member(
      name: "sizeBytes", help: "Of the content that is kept, or else of that which came; null: not known.",
      type: .count),
    Member(
      name: "sha256", help: "Of the same content; null: it was not read.",
      type: .text(pattern: "^[0-9a-f]{64}$", isNullable: true)),
    Member(
      name: "url", help: "The path of the object below the store; null: none is kept.",
      type: .text(isNullable: true)),
    Member(
      name: "reason", help: "Why it is not completed; null: it is.", type: .object(reason, isNullable: true)),
    Member(
      name: "derived", help: "Objects that stages derived from it, where there are any.",
      type: .list(of: derived),
      isRequired: false),
    Member(
      name: "metadata",
      help: "What stages recorded, by key. It is left out where it has more than 8,192 bytes.",
      type: .values, isRequired: false),
  ]

  private static let derived = [
    Member(name: "name", help: "As its stage named it, such as thumbnail.", type: .text()),
    Member(name: "stage", help: "The id of that stage.", type: .text()),
    Member(name: "mediaType", help: "As that stage says.", type: .text()),
    Member(name: "sizeBytes", help: "Of the object.", type: .count),
    Member(name: "sha256", help: "Of the object.", type: .text(pattern: "^[0-9a-f]{64}$")),
    Member(name: "url", help: "Its path below the store.", type: .text()),
  ]

  private static let reason = [
    Member(
      name: "stage", help: "The id of the stage that decided, or of the part of Sluice that did.",
      type: .text()),
    Member(name: "code", help: "For programs.", type: .text()),
    Member(name: "message", help: "For people. It may hold what a sender chose.", type: .text()),
  ]

  private static func write(
    _ members: [Member], _ help: String, isNullable: Bool = false, to writer: inout JSONWriter
  ) {
    writer.member("description", help)
    writeObject(members, isNullable: isNullable, to: &writer)
  }

  private static func writeObject(
    _ members: [Member], isNullable: Bool = false, to writer: inout JSONWriter
  ) {
    writeType("object", isNullable, to: &writer)
    writer.key("required")
    writer.array { writer in for member in members where member.isRequired { writer.value(member.name) } }
    writer.key("properties")
    writer.object { writer in
      for member in members {
        writer.key(member.name)
        writer.object { write(member, to: &$0) }
      }
    }
  }

  private static func write(_ member: Member, to writer: inout JSONWriter) {
    if case .object(let members, let isNullable) = member.type {
      return write(members, member.help, isNullable: isNullable, to: &writer)
    }
    writer.member("description", member.help)
    switch member.type {
    case .text(let pattern, let isNullable):
      writeType("string", isNullable, to: &writer)
      if let pattern { writer.member("pattern", pattern) }
    case .choice(let choices):
      writer.key("enum")
      writer.array { writer in for choice in choices { writer.value(choice) } }
    case .count:
      writeType("integer", true, to: &writer)
      writer.member("minimum", 0)
    case .values:
      writer.member("type", "object")
      writer.key("additionalProperties")
      writer.object { writer in
        writer.key("type")
        writer.array { writer in for type in ["string", "number", "boolean"] { writer.value(type) } }
      }
    case .list(let members):
      writer.member("type", "array")
      writer.key("items")
      writer.object { writeObject(members, to: &$0) }
    case .object: break
    }
  }

  private static func writeType(_ type: String, _ isNullable: Bool, to writer: inout JSONWriter) {
    if !isNullable { return writer.member("type", type) }
    writer.key("type")
    writer.array { writer in for type in [type, "null"] { writer.value(type) } }
  }
}
