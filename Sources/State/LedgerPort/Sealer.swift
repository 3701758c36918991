/// Keeps what is secret out of the file: the ledger binds nothing that was not sealed before.
public protocol Sealer: Sendable {
  /// Seals bytes for one place. What is moved to another does not open.
  func seal(_ bytes: [UInt8], for place: SealedPlace) throws -> [UInt8]
  /// Opens what was sealed for this place.
  func open(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8]
  /// 32 bytes that are the same for the same bytes and purpose, and tell nothing of them without the key.
  func blindIndex(_ bytes: [UInt8], purpose: String) throws -> [UInt8]
  /// Seals anew with the newest key; `nil`: it is sealed with that.
  func reseal(_ sealed: [UInt8], for place: SealedPlace) throws -> [UInt8]?
  /// Whether the key that sealed a value is among those given.
  func hasKey(of sealed: [UInt8]) -> Bool
  /// The key of the blind indexes, sealed, where the home had none on record; `nil`: it has.
  var newIndexKey: [UInt8]? { get }
  /// The key that the blind indexes have as long as that on record is lost, sealed to take its place; `nil`: it is not.
  var indexKeyInsteadOfLost: [UInt8]? { get }
}

/// What seals follow from besides the key.
public struct SealedHome: Sendable, Hashable {
  /// 16 random bytes, always the same for a home.
  public var id: [UInt8]
  /// Something is sealed.
  public var hasValues: Bool
  /// One that was sealed and will be opened, with its place; `nil`: there is none.
  public var sample: SealedSample?
  /// The last that was sealed; `nil`: nothing is.
  public var last: [UInt8]?
  /// The key of the blind indexes, sealed; `nil`: none is on record.
  public var indexKey: [UInt8]?

  public init(id: [UInt8], hasValues: Bool, sample: SealedSample?, last: [UInt8]?, indexKey: [UInt8]?) {
    (self.id, self.hasValues, self.sample) = (id, hasValues, sample)
    (self.last, self.indexKey) = (last, indexKey)
  }

  /// Where that key stands.
  public var indexKeyPlace: SealedPlace { SealedPlace(table: "ledger", column: "index_key", row: id) }
}

/// A value that was sealed.
public struct SealedSample: Sendable, Hashable {
  public var bytes: [UInt8]
  public var place: SealedPlace

  public init(bytes: [UInt8], place: SealedPlace) { (self.bytes, self.place) = (bytes, place) }
}

/// Where a sealed value stands.
public struct SealedPlace: Sendable, Hashable {
  public var table: String
  public var column: String
  public var row: [UInt8]

  public init(table: String, column: String, row: [UInt8]) {
    self.table = table
    self.column = column
    self.row = row
  }
}
