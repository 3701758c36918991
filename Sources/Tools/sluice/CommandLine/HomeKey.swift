import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Sealing

/// The key of a home as the ledger uses it: a ``Vault`` that seals links and what servers said of them.
struct HomeKey: Sealer {
  private let vault: Vault
  let newIndexKey: [UInt8]?
  let indexKeyInsteadOfLost: [UInt8]?

  /// Finds the key, as the pipeline names it; makes one where it names none and nothing is sealed yet.
  ///
  /// - Parameter tells: whether people are told what is wrong with it.
  init(_ home: Home, _ sealed: SealedHome, _ rules: SecretRules, tells: Bool = true) throws {
    func find(_ text: String?) throws -> FoundKey {
      let found = try FoundKey.find(
        text.flatMap { KeySource($0) }, home: home.path, makesKey: !sealed.hasValues,
        environment: Environment.variables)
      if tells, let warning = found.warning { Terminal.error(warning) }
      return found
    }
    let (key, older) = (try find(rules.key).key, try rules.old.map { try find($0).key })
    let vault = try Vault(key, home: sealed.id, older: older)
    let place = Self.place(sealed.indexKeyPlace)
    let knownKey = try Self.opened(sealed.indexKey, place, vault)
    if knownKey == nil { try Self.check(sealed.sample, vault) }
    newIndexKey =
      sealed.indexKey == nil ? try vault.sealedIndexKey(ofKeyOf: sealed.last, for: place) : nil
    let indexKey = try knownKey ?? Self.opened(newIndexKey, place, vault)
    if tells, indexKey == nil { Terminal.error("\(home.path): \(Self.lostIndexKey)") }
    indexKeyInsteadOfLost = indexKey == nil ? try vault.sealedIndexKey(ofKeyOf: sealed.last, for: place) : nil
    self.vault = try Vault(key, home: sealed.id, older: older, indexKey: indexKey)
  }

  private static let lostIndexKey =
    "links were sealed here with a key that is not among those given, so that no link is known again: each is asked for once more. "
    + "If the key was changed by mistake, put the one before back, or name it in the pipeline file under 'old' of 'secrets'; "
    + "where it is lost, `sluice rekey --give-up-lost` makes links known again from now on"

  /// The key of the blind indexes; `nil`: its key is lost, and nothing is known again that was sealed with it.
  private static func opened(
    _ value: [UInt8]?, _ place: Place, _ vault: Vault
  ) throws(SealingError) -> [UInt8]? {
    guard let value else { return nil }
    do throws(SealingError) {
      return try vault.open(value, for: place)
    } catch {
      if case .missingKey = error.code { return nil }
      throw error
    }
  }

  /// Where the key of the blind indexes does not open, nothing is to be touched that another key may open yet. Where it does, `rekey`
  /// has come to its end: what does not open was given up, and each such link fails by itself.
  private static func check(_ sample: SealedSample?, _ vault: Vault) throws(SealingError) {
    guard let sample else { return }
    do throws(SealingError) {
      _ = try vault.open(sample.bytes, for: place(sample.place))
    } catch {
      // With another key nothing would open. A single value that was changed fails by itself.
      if case .missingKey = error.code { throw error }
    }
  }

  /// Why what the home has sealed cannot be opened with the keys that are there; `nil`: it can, or one of them cannot be read.
  /// Makes none.
  static func problem(
    _ home: Home, _ rules: SecretRules, environment: [String: String]
  ) throws(LedgerError) -> String? {
    let sealed = try home.sealedHome()
    func find(_ text: String?) throws(SealingError) -> MasterKey {
      try FoundKey.find(
        text.flatMap { KeySource($0) }, home: home.path, makesKey: false, environment: environment
      ).key
    }
    guard let key = try? find(rules.key), let older = try? rules.old.map({ try find($0) }),
      let vault = try? Vault(key, home: sealed.id, older: older)
    else { return nil }
    let opened = try? opened(sealed.indexKey, place(sealed.indexKeyPlace), vault)
    if opened != nil { return nil }
    do throws(SealingError) { try check(sealed.sample, vault) } catch { return error.description }
    return sealed.indexKey == nil ? nil : lostIndexKey
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

extension Environment {
  /// Joins the ledger of a home; where links are fetched, with the key that seals them. The caller holds the home's lock.
  static func join(
    _ home: Home, _ pipeline: PipelineDefinition
  ) throws -> any LedgerWriter & LedgerMaintenance {
    if pipeline.downloads == nil { return try home.join() }
    return try home.join { try HomeKey(home, $0, pipeline.secrets) }
  }
}
