import LedgerPort
import LedgerRules
import Pipeline
import Platform

// Questions about known files.
extension ModelReader {
  package func known(_ item: IntakeItem) throws(LedgerError) -> KnownFile? {
    let rows = rows
    guard let key = rows.keysByIdentity[try identity(of: item)], let attachment = rows.attachments[key] else {
      return nil
    }
    let outcome = attachment.outcome
    var file = KnownFile(
      id: attachment.origin.id, status: outcome.status, url: outcome.url, sizeBytes: outcome.sizeBytes)
    file.sha256 = outcome.sha256
    let original = Metadatum.read(outcome.metadata)?.first { $0.key == "original.sha256" }
    file.sourceSHA256 = original.flatMap { Hexadecimal.bytes($0.value.text) } ?? outcome.sha256
    return file
  }

  package func wasDeleted(_ item: IntakeItem) throws(LedgerError) -> Bool {
    rows.deletedIdentities[try identity(of: item)] != nil
  }

  private func identity(of item: IntakeItem) throws(LedgerError) -> [UInt8] {
    guard let hash = try? SHA256() else { throw LedgerError(.other, "there is no SHA-256") }
    let transfer = item.link.flatMap {
      ModelTransaction(rows, ModelMaker(UUIDv7Generator(), hash)).identity(of: $0)
    }
    return item.identity(transfer: transfer ?? [], hash)
  }
}
