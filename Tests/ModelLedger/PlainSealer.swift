import LedgerPort
import Platform

/// Seals nothing, and notices what is moved to another place.
package struct PlainSealer: Sealer {
  package struct Moved: Error {}

  package init() {}

  private func head(_ place: SealedPlace) -> [UInt8] {
    Array("\(place.table).\(place.column) ".utf8) + place.row
  }

  package func seal(_ bytes: [UInt8], for place: SealedPlace) throws -> [UInt8] { head(place) + bytes }

  package func open(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8] {
    let head = head(place)
    guard sealed.starts(with: head) else { throw Moved() }
    return Array(sealed.dropFirst(head.count))
  }

  package func blindIndex(_ bytes: [UInt8], purpose: String) throws -> [UInt8] {
    var values = HashedValues()
    values.add(purpose)
    values.add(bytes)
    return try SHA256().digest(of: values)
  }
  package func reseal(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8]? { nil }
  package func hasKey(of sealed: [UInt8]) -> Bool { true }
  package var newIndexKey: [UInt8]? { nil }
  package var indexKeyInsteadOfLost: [UInt8]? { nil }
}
