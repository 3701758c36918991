import Charsets

/// The people that a field such as `To` names, as text: `Name <address>`, with the members of groups and without the names of these.
///
/// What is not as it should be is shown as far as it can be read (RFC 5322, section 3.4, and what programs write): the name is what
/// stands before the angle bracket.
struct Mailboxes {
  private(set) var texts: [String] = []

  private let words: EncodedWords
  private let most: Int
  private var phrase: [UInt8] = []
  private var angle: [UInt8]?
  private var (isInAngle, isQuoted, depth) = (false, false, 0)

  /// - Parameter most: of these, at most.
  init(_ body: [UInt8], _ words: EncodedWords, atMost most: Int) {
    (self.words, self.most) = (words, most)
    var isEscaped = false
    for byte in body.map({ $0 == 0x09 ? 0x20 : $0 }) where byte != 0x0D && byte != 0x0A {
      if texts.count >= most { return }
      if isEscaped || (byte == 0x5C && (isQuoted || depth > 0)) {
        isEscaped.toggle()
        add(byte)
      } else {
        take(byte)
      }
    }
    end()
  }

  private mutating func take(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\"") where depth == 0:
      isQuoted.toggle()
      add(byte)
    case _ where isQuoted: add(byte)
    case UInt8(ascii: "("): depth += 1
    case UInt8(ascii: ")") where depth > 0: depth -= 1
    case _ where depth > 0: return
    case UInt8(ascii: "<") where !isInAngle: (angle, isInAngle) = ([], true)
    case UInt8(ascii: ">") where isInAngle: isInAngle = false
    case UInt8(ascii: ","), UInt8(ascii: ";"): if isInAngle { add(byte) } else { end() }
    case UInt8(ascii: ":") where !isInAngle && angle == nil && !phrase.contains(UInt8(ascii: "@")):
      phrase.removeAll()  // before it is the name of a group
    default: add(byte)
    }
  }

  private mutating func add(_ byte: UInt8) {
    if isInAngle { angle?.append(byte) } else if depth == 0, angle == nil { phrase.append(byte) }
  }

  private mutating func end() {
    defer { (phrase, angle, isInAngle, isQuoted, depth) = ([], nil, false, false, 0) }
    let name = Self.collapsed(words.decoded(Self.unquoted(phrase)))
    guard let angle else {
      if !name.isEmpty { texts.append(name) }
      return
    }
    let address = Self.collapsed(words.decoded(angle.filter { $0 != 0x20 }))
    texts.append(name.isEmpty ? address : "\(Self.quoted(name)) <\(address)>")
  }

  /// Without quotation marks and what escapes a byte.
  private static func unquoted(_ phrase: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in phrase {
      if isEscaped || byte != 0x5C && byte != UInt8(ascii: "\"") { bytes.append(byte) }
      isEscaped = !isEscaped && byte == 0x5C
    }
    return bytes
  }

  private static func collapsed(_ text: String) -> String {
    text.split(separator: " ").joined(separator: " ")
  }

  /// A name with what separates addresses stands in quotation marks.
  private static func quoted(_ name: String) -> String {
    guard name.contains(where: { ",;:<>@\"\\()".contains($0) }) else { return name }
    let escaped = name.map { "\"\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    return "\"\(escaped)\""
  }
}
