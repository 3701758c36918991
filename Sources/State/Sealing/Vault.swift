import CCrypto
import Platform
import Synchronization

/// Seals values for the places where they are kept, and opens them there again.
///
/// A value is `01 | key id 4 | nonce 12 | ciphertext | tag 16`, AES-256-GCM with its place as associated data: moved to
/// another table, column or row it does not open. Nonces are random. With 2^32 of them the chance that two are equal
/// is about 2^-33 (NIST SP 800-38D, section 8.3), so a key seals no more. Any thread may use it.
public final class Vault: Sendable {
  /// The most values that one key seals.
  public static let sealLimit: UInt64 = 1 << 32
  /// From so many on the key should be replaced.
  public static let rotationLimit: UInt64 = 1 << 31
  /// The largest value, in bytes.
  public static let valueLimit = 64 << 20
  /// What sealing adds to a value, in bytes.
  public static let overhead = SealedValue.overhead
  /// The least bytes of a home's id.
  public static let leastHomeID = 16

  private let current: HomeKeys
  private let index: KeyRoom
  private let all: [KeyID: HomeKeys]
  private let older: [HomeKeys]
  private let cipher: AESGCM
  private let count: Atomic<UInt64>

  /// - Parameters:
  ///   - master: seals, and opens what it sealed.
  ///   - home: the home's id, 16 random bytes or more, which never change.
  ///   - older: keys that open what they sealed. One that equals another is of no account.
  ///   - indexKey: 32 bytes that make the blind indexes, so that they stay what they are under another master key; `nil`: they
  ///     follow from `master`.
  ///   - seals: how many values were sealed with `master` before, as ``seals`` said.
  public init(
    _ master: MasterKey, home: [UInt8], older: [MasterKey] = [], indexKey: [UInt8]? = nil, seals: UInt64 = 0
  ) throws(SealingError) {
    precondition(home.count >= Self.leastHomeID, "a home's id has 16 bytes or more")
    guard let cipher = AESGCM() else {
      throw SealingError(.system, "libcrypto offers no AES-256-GCM; is OpenSSL 3 installed whole?")
    }
    self.cipher = cipher
    current = try HomeKeys(master, home: home)
    if let indexKey {
      guard indexKey.count == AESGCM.keySize else {
        throw SealingError(
          .refused,
          "the key of the blind indexes has \(indexKey.count) bytes; restore the ledger from a backup")
      }
      index = try KeyRoom(AESGCM.keySize) { $0.copyBytes(from: indexKey) }
    } else {
      index = current.blindIndex
    }
    var all = [current.id: current]
    var others: [HomeKeys] = []
    for key in older {
      let keys = try HomeKeys(key, home: home)
      if let known = all[keys.id] {
        if known.seal.equals(keys.seal) { continue }
        throw SealingError(
          .configuration,
          "two keys have the id \(keys.id), by chance; \(MasterKey.recipe) in place of the newer one")
      }
      all[keys.id] = keys
      others.append(keys)
    }
    self.all = all
    self.older = others
    count = Atomic(seals)
  }

  /// The id of the key that seals.
  public var keyID: KeyID { current.id }
  /// The ids of the keys that only open, as they were given.
  public var olderKeyIDs: [KeyID] { older.map(\.id) }

  /// How many values were sealed with the key. It is handed to the next vault.
  public var seals: UInt64 { count.load(ordering: .relaxed) }
  /// Whether the key has sealed so much that it should be replaced.
  public var rotationIsDue: Bool { seals >= Self.rotationLimit }

  // MARK: Sealing

  /// Seals a value for its place.
  ///
  /// - Throws: ``SealingError/Code/exhausted`` after 2^32 values, ``SealingError/Code/tooLarge`` beyond 64 MiB.
  public func seal(_ bytes: [UInt8], for place: Place) throws(SealingError) -> [UInt8] {
    // `withUnsafeBytes` of an array does not keep the type of what is thrown.
    try bytes.withUnsafeBytes { plain in
      Result { () throws(SealingError) in try seal(plain, for: place) }
    }.get()
  }

  /// Seals a secret for its place.
  public func seal(_ secret: Secret, for place: Place) throws(SealingError) -> [UInt8] {
    try secret.withBytes { (plain) throws(SealingError) in try seal(plain, for: place) }
  }

  private func seal(_ plain: UnsafeRawBufferPointer, for place: Place) throws(SealingError) -> [UInt8] {
    if plain.count > Self.valueLimit {
      throw SealingError(
        .tooLarge,
        "a value of \(place.table).\(place.column) has \(plain.count) bytes, and \(Self.valueLimit) are sealed at most; shorten it"
      )
    }
    // Counted before: a nonce that was drawn may have been used.
    if count.add(1, ordering: .relaxed).oldValue >= Self.sealLimit {
      count.subtract(1, ordering: .relaxed)
      throw SealingError(
        .exhausted,
        "the key \(keyID) has sealed 2^32 values, which is all it may; name a new key under 'secrets', and this one under 'old'"
      )
    }
    var failure: SystemError?
    var isSealed = false
    let associated = place.bytes
    let value = [UInt8](unsafeUninitializedCapacity: plain.count + Self.overhead) { buffer, count in
      let room = UnsafeMutableRawBufferPointer(buffer)
      room[0] = SealedValue.version
      UnsafeMutableRawBufferPointer(rebasing: room[1...]).copyBytes(from: current.id.bytes)
      let nonce = UnsafeMutableRawBufferPointer(rebasing: room[(1 + KeyID.size)..<SealedValue.headSize])
      do throws(SystemError) { try SystemRandom.fill(nonce) } catch { return failure = error }
      isSealed = cipher.seal(
        plain, key: current.seal.bytes, nonce: UnsafeRawBufferPointer(nonce), associated: associated,
        into: UnsafeMutableRawBufferPointer(
          rebasing: room[SealedValue.headSize..<plain.count + Self.overhead]))
      count = isSealed ? plain.count + Self.overhead : 0
    }
    if let failure { throw SealingError(.system, "\(failure); run the command again") }
    if !isSealed {
      throw SealingError(
        .system, "libcrypto did not seal a value of \(place.table).\(place.column); run the command again")
    }
    return value
  }

  // MARK: Opening

  /// Opens a value at its place. Wipe what you get when it is used.
  ///
  /// - Throws: ``SealingError/Code/refused`` if it was changed, or belongs to another place or home;
  ///   ``SealingError/Code/missingKey(_:)`` if its key is not among those given.
  public func open(_ value: [UInt8], for place: Place) throws(SealingError) -> [UInt8] {
    guard let id = SealedValue.keyID(of: value) else {
      throw refusal(place, "is no sealed value")
    }
    guard let keys = all[id] else {
      throw SealingError(
        .missingKey(id),
        "a value of \(place.table).\(place.column) is sealed with the key \(id), which is not among those given (\(keyList)); "
          + "name it in the pipeline file, under 'old' of 'secrets'; where it is lost, `sluice reset downloads` gives up what waits for it, and `sluice rekey --give-up-lost` leaves the rest"
      )
    }
    var isOpen = false
    let associated = place.bytes
    let plain = [UInt8](unsafeUninitializedCapacity: value.count - Self.overhead) { buffer, count in
      isOpen = value.withUnsafeBytes { value in
        cipher.open(
          UnsafeRawBufferPointer(rebasing: value[SealedValue.headSize...]), key: keys.seal.bytes,
          nonce: UnsafeRawBufferPointer(rebasing: value[(1 + KeyID.size)..<SealedValue.headSize]),
          associated: associated,
          // The room may be more than was asked for.
          into: UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(buffer)[..<(value.count - Self.overhead)]))
      }
      count = isOpen ? value.count - Self.overhead : 0
    }
    if !isOpen { throw refusal(place, "does not open with its key") }
    return plain
  }

  /// Opens a value as a secret, and wipes what was in between.
  public func openSecret(_ value: [UInt8], for place: Place) throws(SealingError) -> Secret {
    var plain = try open(value, for: place)
    defer { ProtectedFile.wipe(&plain) }
    return Secret(plain)
  }

  /// The id of the key that a value was sealed with; `nil`: it is no sealed value.
  public func keyID(of value: [UInt8]) -> KeyID? { SealedValue.keyID(of: value) }

  /// Whether the key that a value was sealed with is among those given. Of what is no sealed value too: that is not a matter of keys.
  public func hasKey(of value: [UInt8]) -> Bool { keyID(of: value).map { all[$0] != nil } ?? true }

  /// Seals a value anew with the newest key; `nil`: it has that already.
  ///
  /// - Throws: as ``open(_:for:)`` and ``seal(_:for:)-([UInt8],_)``. A value with the newest key is not opened.
  public func reseal(_ value: [UInt8], for place: Place) throws(SealingError) -> [UInt8]? {
    if keyID(of: value) == keyID { return nil }
    var plain = try open(value, for: place)
    defer { ProtectedFile.wipe(&plain) }
    return try seal(plain, for: place)
  }

  private var keyList: String {
    ([keyID] + olderKeyIDs).map(\.description).joined(separator: ", ")
  }

  private func refusal(_ place: Place, _ reason: String) -> SealingError {
    SealingError(
      .refused,
      "a value of \(place.table).\(place.column) \(reason): it was changed, or belongs to another row or home; "
        + "restore the ledger from a backup")
  }

  // MARK: Finding without opening

  /// HMAC-SHA-256 of a value, 32 bytes, by which a row is found whose value is sealed. Equal values have equal ones.
  ///
  /// - Parameter purpose: what it is for, such as a column: for another purpose the same value has another index.
  public func blindIndex(_ bytes: [UInt8], purpose: String) throws(SealingError) -> [UInt8] {
    try Self.index(bytes, purpose, index)
  }

  /// The key that makes the blind indexes where one of these keys does, sealed for its place.
  ///
  /// - Parameter value: sealed with that key; `nil`, or with none of them: the newest is meant.
  public func sealedIndexKey(ofKeyOf value: [UInt8]?, for place: Place) throws(SealingError) -> [UInt8] {
    let keys = value.flatMap { keyID(of: $0) }.flatMap { all[$0] } ?? current
    return try seal(keys.blindIndex.bytes, for: place)
  }

  /// The same by each key, the newest first: while values are sealed anew, a row may have that of an older key.
  public func blindIndexes(_ bytes: [UInt8], purpose: String) throws(SealingError) -> [[UInt8]] {
    var indexes: [[UInt8]] = []
    for key in [index] + older.map(\.blindIndex) { indexes.append(try Self.index(bytes, purpose, key)) }
    return indexes
  }

  /// HMAC-SHA-256 of the token of a session, 32 bytes: what is kept of it.
  public func sessionIndex(_ token: [UInt8]) throws(SealingError) -> [UInt8] {
    try Self.index(token, "session", current.sessions)
  }

  private static func index(
    _ bytes: [UInt8], _ purpose: String, _ key: KeyRoom
  ) throws(SealingError) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(4 + purpose.utf8.count + bytes.count)
    withUnsafeBytes(of: UInt32(purpose.utf8.count).littleEndian) { message += $0 }
    message += purpose.utf8
    message += bytes
    defer { ProtectedFile.wipe(&message) }
    var isMade = false
    let index = [UInt8](unsafeUninitializedCapacity: KeyDerivation.digestSize) { buffer, count in
      isMade = message.withUnsafeBytes {
        KeyDerivation.mac(key.bytes, $0, UnsafeMutableRawBufferPointer(buffer))
      }
      count = isMade ? KeyDerivation.digestSize : 0
    }
    if !isMade { throw HomeKeys.failure }
    return index
  }
}
