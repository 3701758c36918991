import CCrypto
import Platform

/// The key that all others of a home are made from: 32 bytes. It is overwritten when it is gone, and is never described.
public final class MasterKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// In bytes.
  public static let size = 32

  let room: KeyRoom

  /// Takes a key, and overwrites the bytes it was given.
  init(wiping bytes: inout [UInt8]) throws(SealingError) {
    defer { ProtectedFile.wipe(&bytes) }
    precondition(bytes.count == Self.size)
    let copy = bytes
    room = try KeyRoom(Self.size) { $0.copyBytes(from: copy) }
  }

  /// A key for another purpose, 32 bytes. It does not depend on the home.
  public func derived(for purpose: String) throws(SealingError) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: Self.size)
    let isMade = key.withUnsafeMutableBytes {
      KeyDerivation.expand(room.bytes, info: Array(purpose.utf8), into: $0)
    }
    if !isMade { throw HomeKeys.failure }
    return key
  }

  /// A key of random bytes.
  public static func random() throws(SealingError) -> MasterKey {
    var bytes = try randomBytes()
    return try MasterKey(wiping: &bytes)
  }

  static func randomBytes() throws(SealingError) -> [UInt8] {
    do throws(SystemError) {
      return try SystemRandom.bytes(size)
    } catch {
      throw SealingError(.system, "\(error); run the command again")
    }
  }

  /// How to make one.
  static let recipe = "make one with `openssl rand -hex 32`"

  public var description: String { Secret.mask }
  public var debugDescription: String { Secret.mask }
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .class) }
}
