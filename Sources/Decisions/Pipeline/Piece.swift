/// What a stage has written beside the content: an object that is kept with it, or a content that was inside it. The pieces of one
/// piece of work lie one after the other in a file.
public struct Piece: Sendable, Equatable {
  public enum Kind: UInt8, Sendable {
    case derived = 0, child
  }

  public var kind: Kind
  /// Of a derived object its name; of a child its file's, hostile and perhaps empty.
  public var name: String
  /// Of a derived object as its stage says; of a child as the content does: hostile.
  public var mediaType: String?
  /// Where it lies in the file, in bytes.
  public var range: Range<Int64>
  /// The place of its stage among the stages of its group.
  public var stage: Int

  /// Derived objects of one attachment, at most.
  public static let mostDerived = 64
  /// Children of one attachment, at most.
  public static let mostChildren = 100_000
  /// Bytes of a child's name, at most.
  public static let childNameLimit = 255

  public init(_ kind: Kind, name: String, mediaType: String?, range: Range<Int64>, stage: Int) {
    self.stage = stage
    self.kind = kind
    self.name = name
    self.mediaType = mediaType
    self.range = range
  }

  /// What a child is called that has no name: no text of the ledger has a NUL, and a name is at least one character.
  public var childName: String { name.isEmpty ? "content" : name }

  /// The type of a derived object, also where its stage says none.
  public var derivedType: String { mediaType ?? "application/octet-stream" }

  /// A child's name, with at most ``childNameLimit`` bytes. What is cut lies before the ending: stages and programs go by that.
  public static func childName(_ name: String) -> String {
    if name.utf8.count <= childNameLimit { return name }
    let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    let ending = name[dot...].utf8.count <= longestEnding ? name[dot...] : ""
    let end = name.utf8.index(name.startIndex, offsetBy: childNameLimit - ending.utf8.count)
    return String(name[..<whole(name, before: end)] + ending)
  }

  /// Bytes of a name's ending, with its dot.
  private static let longestEnding = 40

  /// The last place up to another where a character begins.
  private static func whole(_ text: String, before end: String.Index) -> String.Index {
    var end = end
    while end > text.startIndex, text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
    return end
  }

  /// What ``isName(_:)`` asks for, as the end of a sentence.
  public static let nameRule =
    "a name is lower case letters and digits, in words joined by `-`, up to 64 bytes"

  /// Whether a text may be the name of a derived object.
  public static func isName(_ text: String) -> Bool {
    var previous = UInt8(ascii: "-")
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): break
      case UInt8(ascii: "-") where previous != UInt8(ascii: "-"): break
      default: return false
      }
      previous = byte
    }
    return previous != UInt8(ascii: "-") && text.utf8.count <= 64
  }
}

/// How many children an attachment may have yet, and how many bytes these may have in all. A negative number: it stands too deep in
/// its tree to have any.
public struct ChildRoom: Sendable, Equatable {
  public var contents: Int64
  public var bytes: Int64

  public init(contents: Int64, bytes: Int64) {
    self.contents = contents
    self.bytes = bytes
  }
}

/// A piece that lies in one of the files of an attempt, until it is recorded or dropped.
public struct HeldPiece: Sendable, Equatable {
  public var piece: Piece
  /// The id of its stage.
  public var stage: String
  /// The number of the file.
  public var file: Int

  public init(_ piece: Piece, stage: String, file: Int) {
    self.piece = piece
    self.stage = stage
    self.file = file
  }
}

/// An object beside an attachment, as it is recorded.
public struct DerivedObject: Sendable, Equatable {
  /// As its stage named it.
  public var name: String
  /// The id of that stage.
  public var stage: String
  public var mediaType: String
  public var sizeBytes: Int64
  public var sha256: [UInt8]
  /// Where it lies, relative to the store.
  public var url: String

  public init(
    name: String, stage: String, mediaType: String, sizeBytes: Int64, sha256: [UInt8], url: String
  ) {
    (self.name, self.stage, self.mediaType, self.sizeBytes) = (name, stage, mediaType, sizeBytes)
    (self.sha256, self.url) = (sha256, url)
  }

  /// Where an object with this content lies, relative to the store: equal contents are one object.
  ///
  /// - Parameter sha256: 64 hexadecimal digits.
  public static func url(sha256: String, mediaType: String) -> String {
    "derived/\(sha256.prefix(2))/\(sha256).\(PathTemplate.fileExtension(for: mediaType))"
  }
}
