import LedgerPort
import Platform

/// Objects at paths that no row of the ledger has, by their content. A ledger that was restored from a backup may know a content under
/// another path than the store has it under.
final class Orphans {
  private let store: FileStore
  private let reader: ObjectReader
  private let ledger: any LedgerMaintenance
  /// Paths by SHA-256. `nil`: not looked for yet. Only what has no row is read.
  private var paths: [[UInt8]: [String]]?

  init(_ store: FileStore, _ reader: ObjectReader, _ ledger: any LedgerMaintenance) {
    (self.store, self.reader, self.ledger) = (store, reader, ledger)
  }

  /// The path of one with this content, which is not given out again; `nil`: there is none.
  func take(_ sha256: [UInt8]) throws -> String? {
    if paths == nil { paths = try look() }
    return paths?[sha256]?.popLast()
  }

  private func look() throws -> [[UInt8]: [String]] {
    var paths: [[UInt8]: [String]] = [:]
    let listing = store.list(after: nil)
    while case let page = try listing.next(1000), !page.isEmpty {
      for object in page where object.isFile {
        let path = String(decoding: object.path, as: UTF8.self)
        guard path.utf8.elementsEqual(object.path), try !ledger.hasName(path) else { continue }
        guard case .file(_, let sha256) = reader.look(path) else { continue }
        paths[sha256, default: []].append(path)
      }
    }
    return paths
  }
}
