import HomeFolder
import LedgerPort
import Platform
import Sealing

/// Seals links as the program does, with a key of the home's own.
struct BenchKey: Sealer {
  private let vault: Vault
  let newIndexKey: [UInt8]? = nil
  let indexKeyInsteadOfLost: [UInt8]? = nil

  init(_ home: Home, _ sealed: SealedHome) throws {
    let found = try FoundKey.find(nil, home: home.path, makesKey: !sealed.hasValues, environment: [:])
    vault = try Vault(found.key, home: sealed.id)
  }

  func seal(_ bytes: [UInt8], for place: SealedPlace) throws -> [UInt8] {
    try vault.seal(bytes, for: Self.place(place))
  }

  func open(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8] {
    try vault.open(sealed, for: Self.place(place))
  }

  func reseal(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8]? {
    try vault.reseal(sealed, for: Self.place(place))
  }

  func hasKey(of sealed: [UInt8]) -> Bool { vault.hasKey(of: sealed) }

  func blindIndex(_ bytes: [UInt8], purpose: String) throws -> [UInt8] {
    try vault.blindIndex(bytes, purpose: purpose)
  }

  private static func place(_ place: SealedPlace) -> Place {
    Place(table: place.table, column: place.column, row: .bytes(place.row))
  }
}
