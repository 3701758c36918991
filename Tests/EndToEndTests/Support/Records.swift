import Foundation
import Testing

/// What the program prints with `--format json`: an object a line, whose member `record` says what it is.
enum Printed {
  protocol Record: Decodable {
    /// The member `record`.
    static var kind: String { get }
  }

  /// A member that is always there and may be null.
  @propertyWrapper struct OrNull<Value: Decodable>: Decodable {
    var wrappedValue: Value?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }
  }

  /// The hint after a command has queued something and no program works the queue.
  ///
  /// - Parameter home: the option that names it, with a space before it.
  static func idle(_ home: String) -> String {
    "sluice: nothing runs on this home; with its pipeline (--config) `sluice ingest --manifest /dev/null\(home)` works its "
      + "queue and ends, and `sluice run\(home)` stays\n"
  }

  // MARK: Attachments

  /// An attachment, as `ingest`, `run`, `list` and `show` print it.
  struct Attachment: Record, CustomStringConvertible {
    static let kind = "attachment"
    var id: String
    var fileName: String
    var source: String
    var status: String
    @OrNull var mediaType: String?
    @OrNull var sizeBytes: Int?
    @OrNull var sha256: String?
    @OrNull var url: String?
    @OrNull var reason: Reason?
    var metadata: [String: Value]

    var isCompleted: Bool { status == "completed" }
    var code: String? { reason?.code }
    var message: String { reason?.message ?? "" }
    var description: String { "\(fileName): \(status)" + (reason.map { ": \($0)" } ?? "") }
  }

  /// Why an attachment is not completed.
  struct Reason: Decodable, Equatable, CustomStringConvertible {
    var stage: String
    var code: String
    var message: String
    var description: String { "\(stage): \(code): \(message)" }
  }

  /// A value of metadata. A number that is whole is an integer.
  enum Value: Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    case boolean(Bool)
  }

  /// The history of an attachment, which `show` adds to its record.
  struct Story: Record {
    static let kind = "attachment"
    var attempts: [Attempt]
    var deliveries: [Delivery]
  }

  struct Attempt: Decodable {
    var stage: String
  }

  struct Delivery: Decodable {
    var recipient: String
  }

  // MARK: Commands on a home

  /// The end of an ingest.
  struct Summary: Record {
    static let kind = "summary"
    var total: Int
    var completed: Int
    var failed: Int
    var queued: Int
    var waitingForSource: Int
    var known: Int
    var knownNotCompleted: Int
    var notTakenIn: Int
    var more: Bool
    var deliveries: Deliveries

    struct Deliveries: Decodable {
      var delivered: Int
      var scheduled: Int
      @OrNull var nextAt: String?
      var dead: Int
    }
  }

  /// An input that is not taken in.
  struct Problem: Record {
    static let kind = "problem"
    var origin: String
    @OrNull var line: Int?
    @OrNull var path: String?
    var message: String
  }

  /// What would become of a file.
  struct Rehearsal: Record {
    static let kind = "rehearsal"
    var source: String
    var status: String
    @OrNull var mediaType: String?
    @OrNull var reason: Reason?
  }

  /// The end of `ingest --dry-run`.
  struct DryRun: Record {
    static let kind = "dryRun"
    var files: Int
    var sizeBytes: Int
    var completed: Int
    var rejected: Int
    var links: Int
    var known: Int
    var knownNotCompleted: Int
    var notTakenIn: Int
    var more: Bool
  }

  /// A file that was handed over.
  struct Item: Record {
    static let kind = "item"
    var id: String
    var state: String
    @OrNull var reference: String?
    var origin: String
    var source: String
  }

  /// The end of `enqueue --wait`.
  struct Waited: Record {
    static let kind = "waited"
    var completed: Int
    var notCompleted: Int
    var open: Int
  }

  struct Enqueued: Record {
    static let kind = "enqueued"
    var added: Int
    var known: Int
    var problems: Int
  }

  struct Status: Record {
    static let kind = "status"
    @OrNull var inUse: Bool?
    var queue: Queue
    @OrNull var oldestQueuedAt: String?
    /// By status.
    var attachments: [String: Total]

    struct Queue: Decodable {
      var leased: Int
    }

    struct Total: Decodable {
      var count: Int
    }
  }

  /// What would become of an attachment with another configuration.
  struct Replay: Record {
    static let kind = "replay"
    var id: String
    var fileName: String
    var status: String
    var changes: [Change]

    struct Change: Decodable {
      var key: String
      @OrNull var before: String?
      @OrNull var after: String?
    }
  }

  /// Something that `verify` found.
  struct Finding: Record {
    static let kind = "finding"
    var code: String
    var place: String
    @OrNull var remedy: String?
    @OrNull var repair: String?
  }

  /// The end of `verify`.
  struct Verification: Record {
    static let kind = "verification"
    var ok: Bool
    var objects: Int
    var read: Int
    var queued: Int
  }

  struct Backup: Record {
    static let kind = "backup"
    var sizeBytes: Int
  }
}

extension Printed.Value: Decodable, CustomStringConvertible, ExpressibleByStringLiteral,
  ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }

  init(stringLiteral value: String) { self = .text(value) }
  init(integerLiteral value: Int) { self = .integer(value) }
  init(floatLiteral value: Double) { self = .number(value) }
  init(booleanLiteral value: Bool) { self = .boolean(value) }

  var description: String {
    switch self {
    case .text(let value): value
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .boolean(let value): "\(value)"
    }
  }

  var asText: String? { if case .text(let value) = self { value } else { nil } }
  var asInteger: Int? { if case .integer(let value) = self { value } else { nil } }
}

/// An event, as channels deliver it.
struct Event: Decodable {
  var id: String
  var type: String
  var timestamp: String
  var data: Content

  struct Content: Decodable {
    var recipientId: String
    var attachmentId: String
    var status: String
  }

  /// The lines of a file of events.
  static func read(_ lines: String) throws -> [Event] {
    try lines.split(separator: "\n").map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
  }
}

// MARK: Reading them

extension Printed {
  /// A line, and its record if it is of the wanted kind.
  private struct Line<Wanted: Record>: Decodable {
    var wanted: Wanted?

    private enum CodingKeys: CodingKey { case record }

    init(from decoder: any Decoder) throws {
      let kind = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .record)
      if kind == Wanted.kind { wanted = try Wanted(from: decoder) }
    }
  }

  fileprivate static func record<Wanted: Record>(_ line: Substring) throws -> Wanted? {
    try JSONDecoder().decode(Line<Wanted>.self, from: Data(line.utf8)).wanted
  }

  /// The records of one kind. A line that a killed process did not finish is none.
  static func records<Wanted: Record>(_: Wanted.Type, in text: String) -> [Wanted] {
    text.split(separator: "\n").compactMap { line in
      do {
        return try record(line)
      } catch DecodingError.dataCorrupted {
        return nil
      } catch {
        Issue.record("\(line): \(error)")
        return nil
      }
    }
  }
}

extension SluiceCommand.Outcome {
  func records<Wanted: Printed.Record>(_ kind: Wanted.Type) -> [Wanted] { Printed.records(kind, in: out) }

  /// The records of an output that has no others.
  func every<Wanted: Printed.Record>(_: Wanted.Type) throws -> [Wanted] {
    try out.split(separator: "\n").map { line in
      let record: Wanted? = try Printed.record(line)
      return try #require(record, "\(line)")
    }
  }

  /// The record that is the whole output.
  func only<Wanted: Printed.Record>(_ kind: Wanted.Type) throws -> Wanted {
    let all = try every(kind)
    try #require(all.count == 1, "\(out) \(err)")
    return all[0]
  }

  /// The record that ends the output.
  func last<Wanted: Printed.Record>(_: Wanted.Type) throws -> Wanted {
    let record: Wanted? = try Printed.record(out.split(separator: "\n").last ?? "")
    return try #require(record, "\(out.suffix(500)) \(err)")
  }

  var attachments: [Printed.Attachment] { records(Printed.Attachment.self) }

  var summary: Printed.Summary { get throws { try last(Printed.Summary.self) } }
}
