/// The members of a JSON object as ``JSONWriter`` writes metadata, without a text made of any: their places in its bytes.
///
/// It knows an object of texts without escapes, numbers and booleans, with no space between them; nothing else. Of that, values
/// are what ``JSONMembers`` reads.
public struct FlatJSON {
  public struct Member {
    /// Without the quotes.
    public var key: Range<Int>
    public var value: Range<Int>
    public var isText: Bool
  }

  public private(set) var members: [Member] = []

  public init() {}

  /// Reads an object. False: it is something else, and ``members`` mean nothing.
  public mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    members.removeAll(keepingCapacity: true)
    var place = 0
    func skip(_ scalar: Unicode.Scalar) -> Bool {
      guard place < bytes.count, bytes[place] == UInt8(ascii: scalar) else { return false }
      place += 1
      return true
    }
    /// The rest of a text up to its end.
    func text() -> Range<Int>? {
      let start = place
      while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
        if bytes[place] == UInt8(ascii: "\\") { return nil }
        place += 1
      }
      return skip("\"") ? start..<(place - 1) : nil
    }
    guard skip("{") else { return false }
    if skip("}") { return place == bytes.count }
    repeat {
      guard skip("\""), let key = text(), skip(":") else { return false }
      if skip("\"") {
        guard let value = text() else { return false }
        members.append(Member(key: key, value: value, isText: true))
      } else {
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: ","), bytes[place] != UInt8(ascii: "}") {
          place += 1
        }
        guard Self.isWord(bytes, start..<place) else { return false }
        members.append(Member(key: key, value: start..<place, isText: false))
      }
    } while skip(",")
    return skip("}") && place == bytes.count
  }

  /// Whether it is a whole number, `true` or `false`. Others have more than one spelling.
  private static func isWord(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
    if range.isEmpty { return false }
    let word = bytes[range]
    if word.elementsEqual("true".utf8) || word.elementsEqual("false".utf8) { return true }
    let digits = word.first == UInt8(ascii: "-") ? word.dropFirst() : word
    return (1...18).contains(digits.count)
      && (digits.first != UInt8(ascii: "0") || word.count == 1)
      && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
