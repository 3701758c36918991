import Pipeline
import Platform
import SQLite

/// Tells which files are attachments already, whether or not a coordinator is running. Used by one thread; writes nothing.
public final class KnownFiles {
  /// The attachment that a file is.
  public struct Attachment: Sendable, Equatable {
    public var id: String
    public var status: Status
    /// Where its object lies below the store; `nil`: it has none.
    public var url: String?
    /// Of its object, in bytes.
    public var sizeBytes: Int64?
    /// Of its object.
    public var sha256: [UInt8]?
    /// Of the file that it came from.
    public var sourceSHA256: [UInt8]?

    public init(id: String, status: Status, url: String? = nil, sizeBytes: Int64? = nil) {
      (self.id, self.status, self.url, self.sizeBytes) = (id, status, url, sizeBytes)
    }
  }

  private let ledger: SQLiteLedger

  /// Opens the ledger of a home for reading.
  public init(_ home: Home) throws(LedgerError) { ledger = try SQLiteLedger(reading: home) }

  /// A ledger that is open, for tests.
  init(_ ledger: SQLiteLedger) { self.ledger = ledger }

  /// The attachment that a file is: the same path, size and time of change under the same message, or the same message
  /// of a Maildir. `nil`: it is new.
  public func attachment(_ item: IntakeItem) throws(LedgerError) -> Attachment? {
    let identity = item.identity(ledger.hash)
    return try ledger.reading {
      try ledger.statement(Self.query).first(.blob(identity)) {
        var attachment = Attachment(
          id: $0.text(0), status: Status(rawValue: $0.text(1)) ?? .queued, url: $0.optionalText(2),
          sizeBytes: $0.optionalInteger(3))
        let sha256 = $0.blob(4)
        if sha256.isEmpty { return attachment }
        attachment.sha256 = sha256
        // A stage has replaced the content where this is said.
        attachment.sourceSHA256 = $0.optionalText(5).map { Hexadecimal.bytes($0) ?? [] } ?? sha256
        return attachment
      }
    }
  }

  /// Whether a file was an attachment that a person has deleted, so that it is not taken in again.
  public func wasDeleted(_ item: IntakeItem) throws(LedgerError) -> Bool {
    let identity = item.identity(ledger.hash)
    return try ledger.reading {
      try ledger.statement(SQL.tombstone).first(.blob(ledger.tombstoneIdentity(identity))) { _ in true }
        ?? false
    }
  }

  private static let query: StaticString = """
    SELECT id, status, url, size_bytes, sha256, CASE WHEN json_valid(metadata) THEN metadata ->> '$."original.sha256"' END
    FROM attachments WHERE identity = ?1
    """
}
