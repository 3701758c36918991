import LedgerPort
import Platform

/// Not secret at all, but it shows for which place a value was sealed.
struct OpenSealer: Sealer {
  struct Wrong: Error {}

  private func head(_ place: SealedPlace) -> [UInt8] {
    Array("\(place.table).\(place.column):".utf8) + place.row.prefix(4)
  }
  func seal(_ bytes: [UInt8], for place: SealedPlace) throws -> [UInt8] {
    head(place) + bytes.map { $0 ^ 0x5A }
  }
  func open(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8] {
    let head = head(place)
    guard sealed.starts(with: head) else { throw Wrong() }
    return sealed.dropFirst(head.count).map { $0 ^ 0x5A }
  }
  func blindIndex(_ bytes: [UInt8], purpose: String) throws -> [UInt8] {
    var values = HashedValues()
    values.add(purpose)
    values.add(bytes)
    return try SHA256().digest(of: values)
  }
  func reseal(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8]? { nil }
  func hasKey(of sealed: [UInt8]) -> Bool { true }
  var newIndexKey: [UInt8]? { nil }
  var indexKeyInsteadOfLost: [UInt8]? { nil }
}
