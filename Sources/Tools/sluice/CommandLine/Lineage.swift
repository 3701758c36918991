import LedgerPort
import Platform

/// The way to contents that were taken out of others, by names: `night.zip > inner.eml > r.pdf`.
final class Lineage {
  private let open: () throws -> any LedgerQueries
  private lazy var ledger = try? open()
  /// Of attachments that something was taken out of, by id.
  private var ways: [String: String] = [:]

  /// The most that are remembered, and the most levels that are looked at.
  private static let (most, mostLevels) = (10_000, 100)

  /// - Parameter open: opens the ledger, for the first content that was taken out of another.
  init(_ open: @escaping () throws -> any LedgerQueries) { self.open = open }

  /// The names from the outermost attachment to this one, printable; `nil`: it was taken in itself.
  func way(to record: AttachmentRecord) -> String? {
    record.origin.parentId.map { "\(way(toId: $0, levels: Self.mostLevels)) > \(Self.name(record))" }
  }

  /// What an attachment is called in lines for people.
  func name(_ record: AttachmentRecord) -> String { way(to: record) ?? Self.name(record) }

  private static func name(_ record: AttachmentRecord) -> String {
    Terminal.printable(RecordText.name(record))
  }

  private func way(toId id: String, levels: Int) -> String {
    if let known = ways[id] { return known }
    guard levels > 0, let ledger, let found = try? ledger.attachments(idPrefix: id),
      let record = found.first(where: { $0.origin.id == id })
    else { return "…" }
    let outer = record.origin.parentId.map { "\(way(toId: $0, levels: levels - 1)) > " } ?? ""
    if ways.count >= Self.most { ways.removeAll() }
    let whole = outer + Self.name(record)
    ways[id] = whole
    return whole
  }
}
