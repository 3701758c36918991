import CCrypto

/// What is made from a master key for one home, by HKDF-SHA-256 with the home's id as salt.
struct HomeKeys: Sendable {
  let id: KeyID
  let seal: KeyRoom
  let blindIndex: KeyRoom
  let sessions: KeyRoom

  init(_ master: MasterKey, home: [UInt8]) throws(SealingError) {
    let root = try KeyRoom(KeyDerivation.digestSize) { (room) throws(SealingError) in
      guard KeyDerivation.extract(salt: home, master.room.bytes, into: room) else { throw Self.failure }
    }
    func key(_ purpose: String) throws(SealingError) -> KeyRoom {
      try KeyRoom(AESGCM.keySize) { (room) throws(SealingError) in
        guard KeyDerivation.expand(root.bytes, info: Array(purpose.utf8), into: room) else {
          throw Self.failure
        }
      }
    }
    seal = try key("sluice 1 seal")
    blindIndex = try key("sluice 1 blind index")
    sessions = try key("sluice 1 sessions")
    var id = [UInt8](repeating: 0, count: KeyID.size)
    let isMade = id.withUnsafeMutableBytes {
      KeyDerivation.expand(root.bytes, info: Array("sluice 1 key id".utf8), into: $0)
    }
    guard isMade else { throw Self.failure }
    self.id = KeyID(id)
  }

  static let failure = SealingError(
    .system, "libcrypto offers no HMAC with SHA-256; is OpenSSL 3 installed whole?")
}
