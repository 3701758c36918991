/// The dictionary of an object stream as writers of PDFs put it: all that it says is known, and poppler reads the same.
///
/// It stands directly behind `obj` and directly before `stream`, has only the keys of an object stream with numbers or
/// references as values, and the one filter `FlateDecode`. There are no strings, no comments, no dictionaries inside and no
/// `#` in it, and no comment in the line before it. So there is no other way to read the text: if poppler takes the
/// name from which the search began for a name, then it takes these bytes for its dictionary. Had a comment, a string or
/// another dictionary begun before them, it would not have ended before that name.
struct StreamDictionary {
  /// The longest dictionary, in bytes before and after the name.
  private static let reach = 256

  /// Where the data of the stream begin whose dictionary has its name `First` with the slash at `name`; `nil` if the
  /// text around it can be read otherwise.
  static func data(ofStreamNamedAt name: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = start(before: name, in: bytes) else { return nil }
    var text = Text(rest: bytes[start...].prefix(2 * reach))
    var keys: Set<Key> = []
    while !text.take(">>") {
      guard let key = Key.allCases.first(where: { text.takeName($0.rawValue) }), keys.insert(key).inserted
      else {
        return nil
      }
      let isKnown =
        switch key {
        case .type: text.takeName("/ObjStm")
        case .filter: text.takeName("/FlateDecode")
        case .first, .number, .length, .extends: text.takeNumber()
        }
      guard isKnown else { return nil }
    }
    guard keys.isSuperset(of: [.first, .number, .filter]), text.take("stream") else { return nil }
    return text.lineEnd
  }

  private enum Key: String, CaseIterable {
    case type = "/Type"
    case number = "/N"
    case first = "/First"
    case length = "/Length"
    case filter = "/Filter"
    case extends = "/Extends"
  }

  /// The end of the `<<` before the name.
  private static func start(before name: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
    let before = bytes[..<name].suffix(reach)
    guard let last = before.lastIndex(of: UInt8(ascii: "<")), last - 1 >= before.startIndex,
      bytes[last - 1] == UInt8(ascii: "<")
    else { return nil }
    let line = bytes[..<(last - 1)].suffix(reach).reversed().prefix { $0 != 10 && $0 != 13 }
    guard line.count < reach, !line.contains(UInt8(ascii: "%")) else { return nil }
    let object = bytes[..<(last - 1)].suffix(reach).reversed().drop(while: isSpace).prefix(3)
    return object.elementsEqual("jbo".utf8) ? last + 1 : nil
  }
}

/// What is left to read of a dictionary.
private struct Text {
  var rest: Slice<UnsafeRawBufferPointer>

  /// Where a line begins after `stream` (7.3.8.1: a line feed, with or without a carriage return before it).
  var lineEnd: Int? {
    if rest.starts(with: [10]) { return rest.startIndex + 1 }
    return rest.starts(with: [13, 10]) ? rest.startIndex + 2 : nil
  }

  mutating func take(_ word: StaticString) -> Bool {
    let next = rest.drop(while: isSpace)
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard next.starts(with: word) else { return false }
    rest = next.dropFirst(word.count)
    return true
  }

  /// The whole name, and not the beginning of a longer one.
  mutating func takeName(_ name: String) -> Bool {
    let next = rest.drop(while: isSpace)
    guard next.starts(with: name.utf8) else { return false }
    let after = next.dropFirst(name.utf8.count)
    guard let delimiter = after.first, !isRegular(delimiter) else { return false }
    rest = after
    return true
  }

  /// A whole number, or a reference to one: two numbers and `R`.
  mutating func takeNumber() -> Bool {
    guard takeDigits() else { return false }
    let number = self
    if takeDigits(), takeName("R") { return true }
    self = number
    return true
  }

  private mutating func takeDigits() -> Bool {
    let next = rest.drop(while: isSpace)
    let after = next.drop { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard after.startIndex > next.startIndex, let delimiter = after.first, !isRegular(delimiter) else {
      return false
    }
    rest = after
    return true
  }
}
