import Ledger
import Pipeline
import Platform

/// Attachments as CSV (RFC 4180): a row for each, with its metadata as columns.
struct AttachmentTable {
  private let ledger: any LedgerQueries
  private let filter: AttachmentFilter
  private let limit: Int?

  /// Keys of metadata that get a column; the rest of it is in the last one.
  private static let mostKeys = 200

  init(_ ledger: any LedgerQueries, _ filter: AttachmentFilter, limit: Int?) {
    (self.ledger, self.filter, self.limit) = (ledger, filter, limit)
  }

  private static let columns = [
    "id", "status", "mediaType", "sizeBytes", "sha256", "url", "reasonStage", "reasonCode", "reasonMessage",
    "conversationId", "messageId", "senderId", "fileName", "declaredType", "reference", "source", "createdAt",
    "finishedAt",
  ]

  /// Goes through the attachments twice: for the keys of their metadata, and for the rows. Metadata whose key is not among those
  /// of the first time, as that of an attachment which has ended meanwhile, is in the column `otherMetadata` as JSON.
  func write(_ body: (String) throws -> Void) throws {
    let keys = try keys()
    let places = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($0.element, $0.offset) })
    var lines = CSV.line(
      Self.columns.map { .text($0) } + keys.map { .text("metadata.\($0)") } + [.text("otherMetadata")])
    try records { record in
      lines += CSV.line(row(record, places))
      if lines.utf8.count > 64 << 10 {
        try body(lines)
        lines.removeAll(keepingCapacity: true)
      }
    }
    try body(lines)
  }

  private func records(_ body: (AttachmentRecord) throws -> Void) throws {
    var left = limit ?? .max
    try ledger.attachments(filter) { record in
      try body(record)
      left -= 1
      return left > 0
    }
  }

  /// The keys of metadata, in order.
  private func keys() throws -> [String] {
    var keys: Set<String> = []
    try records { record in
      if keys.count >= Self.mostKeys { return }
      for (key, _) in JSONMembers.read(record.outcome.metadata) ?? [] { keys.insert(key) }
    }
    return keys.sorted().prefix(Self.mostKeys).map(\.self)
  }

  private func row(_ record: AttachmentRecord, _ places: [String: Int]) -> [CSV.Cell] {
    let (origin, outcome) = (record.origin, record.outcome)
    let own: [CSV.Cell] = [
      .text(origin.id), .text(outcome.status.rawValue), .text(outcome.mediaType),
      .number(outcome.sizeBytes.map(String.init)), .text(outcome.sha256.map(Hexadecimal.text)),
      .text(outcome.url), .text(outcome.reason?.stage), .text(outcome.reason?.code),
      .text(outcome.reason?.message), .text(origin.conversationId), .text(origin.messageId),
      .text(origin.senderId), .text(origin.fileName), .text(origin.declaredType), .text(origin.reference),
      .text(String(decoding: record.source, as: UTF8.self)), .text(Clock.timestamp(record.createdAt)),
      .text(record.finishedAt.map(Clock.timestamp)),
    ]
    var cells = [CSV.Cell](repeating: .text(nil), count: places.count)
    guard let metadata = JSONMembers.read(outcome.metadata) else {
      return own + cells + [.text(outcome.metadata)]
    }
    var rest: [Metadatum] = []
    for (key, value) in metadata {
      guard let place = places[key], case .text(nil) = cells[place] else {
        rest.append(Self.metadatum(key, value))
        continue
      }
      switch value {
      case .text(let text): cells[place] = .text(text)
      case .integer(let integer): cells[place] = .number(String(integer))
      case .number(let number): cells[place] = .number("\(number)")
      case .boolean(let boolean): cells[place] = .number(boolean ? "true" : "false")
      }
    }
    return own + cells + [.text(rest.isEmpty ? nil : JSONWriter.object(of: rest))]
  }

  private static func metadatum(_ key: String, _ value: JSONMembers.Value) -> Metadatum {
    switch value {
    case .text(let text): Metadatum(key: key, value: .text(text))
    case .integer(let integer): Metadatum(key: key, value: .integer(integer))
    case .number(let number): Metadatum(key: key, value: .number(number))
    case .boolean(let boolean): Metadatum(key: key, value: .boolean(boolean))
    }
  }
}
