import Glibc
import PDFDocument

/// Looks for scripts in the compressed objects of a document, which poppler reads page by page.
///
/// A document has no script if neither its plain objects nor its compressed ones have a name that begins with
/// `JavaScript` or `JS`. This type proves the second part, or gives up, and then poppler looks. It gives up
///
/// - if any name `First` before a number is not in a `StreamDictionary`: every object stream has such a name, which is
///   never compressed, so none is overlooked;
/// - if the data of one are not valid zlib to their end, as where they are encrypted;
/// - if one has such a name, or the beginning of one in a place where poppler might cut it off;
/// - beyond `budget` or `limit`, as hostile data can be a thousand times larger than the file.
struct ObjectStreams {
  /// How many bytes are unpacked and looked at, of all streams together. It takes some 20 milliseconds.
  static let budget = 8 << 20

  /// The largest number of streams.
  static let limit = 4_000

  private let inflater = Inflater()

  /// Whether it is certain that no compressed object has a script. The file must not have the name `Encrypt`.
  func haveNoScript(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let names = Names.offsets(of: .first, in: bytes, limit: Self.limit) else { return false }
    var budget = Self.budget
    for name in names {
      guard let data = StreamDictionary.data(ofStreamNamedAt: name, in: bytes),
        inflater.unpack(UnsafeRawBufferPointer(rebasing: bytes[data...]), &budget, Self.hasNoScript)
      else { return false }
    }
    return true
  }

  /// Whether there is no `/JS`, `/Ja`, or what may stand for one (7.3.5: `#` and two digits for any byte).
  ///
  /// Pieces overlap. At the end of a piece, the beginning of a name is left to the next; at the end of the data, it is
  /// too short to be one.
  static func hasNoScript(_ piece: UnsafeRawBufferPointer) -> Bool {
    guard var next = piece.baseAddress else { return true }
    let end = next + piece.count
    while let slash = memchr(next, 0x2F, end - next) {
      next = UnsafeRawPointer(slash) + 1
      guard next < end else { break }
      let first = next.load(as: UInt8.self)
      if first == UInt8(ascii: "#") { return false }
      guard first == UInt8(ascii: "J"), end - next > 1 else { continue }
      switch next.load(fromByteOffset: 1, as: UInt8.self) {
      case UInt8(ascii: "S"), UInt8(ascii: "a"), UInt8(ascii: "#"): return false
      default: continue
      }
    }
    return true
  }
}
