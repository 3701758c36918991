import HomeFolder
import LedgerPort
import LedgerRules
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
  ///
  /// - Parameter sealer: makes what tells links from each other; without, no link is known.
  public init(_ home: Home, sealer: ((SealedHome) throws -> any Sealer)? = nil) throws {
    ledger = try SQLiteLedger(reading: home)
    if let sealer { ledger.sealer = try sealer(try ledger.foundSealedHome()) }
  }

  /// A ledger that is open, for tests.
  init(_ ledger: SQLiteLedger) { self.ledger = ledger }

  /// The attachment that a file is: the same path, size and time of change under the same message, or the same message
  /// of a Maildir. `nil`: it is new.
  public func attachment(_ item: IntakeItem) throws(LedgerError) -> Attachment? {
    return try ledger.reading {
      let identity = try identity(of: item)
      return try ledger.statement(Self.query).first(.blob(identity)) {
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
    return try ledger.reading {
      let identity = try identity(of: item)
      return try ledger.statement(SQL.tombstone).first(.blob(ledger.tombstoneIdentity(identity))) { _ in true
      }
        ?? false
    }
  }

  private func identity(of item: IntakeItem) throws -> [UInt8] {
    guard let link = item.link, let sealer = ledger.sealer else { return item.identity(ledger.hash) }
    return item.identity(transfer: try SQLiteLedger.identity(of: link, sealer), ledger.hash)
  }

  private static let query: StaticString = """
    SELECT id, status, url, size_bytes, sha256, CASE WHEN json_valid(metadata) THEN metadata ->> '$."original.sha256"' END
    FROM attachments WHERE identity = ?1
    """
}
