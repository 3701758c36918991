import CCrypto
import Platform

/// A text or bytes that must never be printed, such as a password or a token. However it is described, it is `«secret»`.
///
/// Its bytes are overwritten when the last copy is gone. A `String` that it was made from is not: Swift has no way to.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// What it is described as.
  public static let mask = "«secret»"

  private let storage: Storage

  public init(_ text: String) {
    var text = text
    storage = text.withUTF8 { Storage(UnsafeRawBufferPointer($0)) }
  }

  public init(_ bytes: [UInt8]) {
    storage = bytes.withUnsafeBytes { Storage($0) }
  }

  /// The number of bytes.
  public var count: Int { storage.room.count }

  /// Lends the bytes. They are gone when the secret is.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // The storage must live as long as its bytes are lent.
    defer { withExtendedLifetime(storage) {} }
    return try body(UnsafeRawBufferPointer(storage.room))
  }

  /// Compares in a time that does not depend on where the bytes differ. That the lengths differ may be seen.
  public static func == (one: Secret, other: Secret) -> Bool {
    one.withBytes { first in
      other.withBytes { second in
        first.count == second.count
          && (first.isEmpty || CRYPTO_memcmp(first.baseAddress, second.baseAddress, first.count) == 0)
      }
    }
  }

  public var description: String { Self.mask }
  public var debugDescription: String { Self.mask }
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }

  /// Unchecked because the bytes are written in `init` only.
  private final class Storage: @unchecked Sendable {
    let room: UnsafeMutableRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
      room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
      room.copyMemory(from: bytes)
    }

    deinit {
      if let start = room.baseAddress { OPENSSL_cleanse(start, room.count) }
      room.deallocate()
    }
  }
}
