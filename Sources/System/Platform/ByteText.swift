/// A text that is the same as another where its bytes are.
///
/// To Swift, two texts are equal where they mean the same characters (Unicode's canonical equivalence), `é` of one scalar and of two.
/// The ledger, and all that hands out names, tells such texts apart: a name that opens something must not open what is another's.
public struct ByteText: Hashable, Sendable {
  public let text: String

  public init(_ text: String) { self.text = text }

  public static func == (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.elementsEqual(other.text.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(0xFF as UInt8)
  }
}
