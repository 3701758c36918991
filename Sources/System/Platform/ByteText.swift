/// A text that is the same as another where its bytes are.
///
/// To Swift, two texts are equal where they mean the same characters (Unicode's canonical equivalence), `é` of one scalar and of two.
/// The ledger, and all that hands out names, tells such texts apart: a name that opens something must not open what is another's.
public struct ByteText: Hashable, Comparable, Sendable {
  public let text: String

  public init(_ text: String) { self.text = text }

  public static func == (one: ByteText, other: ByteText) -> Bool {
    one.withBytes { bytes in other.withBytes { bytes.elementsEqual($0) } }
  }

  public static func < (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: $0) }
    hasher.combine(0xFF as UInt8)
  }

  /// Calls a body with the bytes of the text. One that is not kept as UTF-8 is copied first.
  private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
      return result
    }
    return Array(text.utf8).withUnsafeBytes(body)
  }
}
