/// Takes one string out of JSON as it comes, piece by piece. Other values are skipped: their containers and strings must end
/// properly, numbers and words are not looked at.
struct JSONText {
  struct Fault: Error, Equatable {
    let reason: String
  }

  private struct Container {
    let isObject: Bool
    /// Whether it is on the way to the string.
    let isOnWay: Bool
    /// Of the element at hand, in an array.
    var index = 0
    /// Whether the member or element at hand is on the way.
    var isMatch = false
  }

  private enum State {
    case value, firstElement, firstKey, key, colon, afterValue, scalar, over
    case string(Use)
    case escape(Use)
    case unicode(Use, digits: Int, value: UInt32)
  }

  /// What the string at hand is for.
  private enum Use {
    case key, target, other
  }

  /// The deepest nesting.
  private static let depth = 64

  private let pointer: [[UInt8]]
  private var stack: [Container] = []
  private var state = State.value
  /// The key at hand, as far as it can matter.
  private var key: [UInt8] = []
  private let longestKey: Int
  private(set) var isFound = false

  init(at pointer: [[UInt8]]) {
    self.pointer = pointer
    longestKey = (pointer.map(\.count).max() ?? 0) + 1
  }

  /// Takes a piece, and puts what of it belongs to the string into a room as large as the piece. Returns how many bytes.
  mutating func read(
    _ piece: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var place = 0
    for byte in piece {
      if let text = try take(byte) {
        room[place] = text
        place += 1
      }
    }
    return place
  }

  /// Throws if the document is not complete, or the string was not in it.
  func finish() throws(Fault) {
    switch state {
    case .over: break
    case .scalar where stack.isEmpty: break
    default: throw Fault(reason: "the JSON breaks off")
    }
    if !isFound { throw Fault(reason: "the JSON has no text at the place that `response` names") }
  }

  /// Takes a byte. Returns the byte of the string that it ends.
  private mutating func take(_ byte: UInt8) throws(Fault) -> UInt8? {
    switch state {
    case .string(let use): return try inString(byte, use)
    case .escape(let use): return try inEscape(byte, use)
    case .unicode(let use, let digits, let value): return try inUnicode(byte, use, digits, value)
    case .scalar:
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): state = afterValue
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "E"),
        UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
        return nil
      default: throw Fault(reason: "the JSON has a character in the wrong place")
      }
    default: break
    }
    if byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { return nil }
    try between(byte)
    return nil
  }

  private mutating func between(_ byte: UInt8) throws(Fault) {
    switch (state, byte) {
    case (.firstElement, UInt8(ascii: "]")), (.firstKey, UInt8(ascii: "}")): pop()
    case (.value, _), (.firstElement, _): try begin(byte)
    case (.firstKey, 0x22), (.key, 0x22):
      key.removeAll(keepingCapacity: true)
      state = .string(.key)
    case (.colon, UInt8(ascii: ":")): state = .value
    case (.afterValue, UInt8(ascii: ",")):
      guard let last = stack.indices.last else { break }
      if stack[last].isObject {
        state = .key
      } else {
        stack[last].index += 1
        stack[last].isMatch = matches(String(stack[last].index).utf8, stack[last])
        state = .value
      }
      return
    case (.afterValue, UInt8(ascii: "}")) where stack.last?.isObject == true: pop()
    case (.afterValue, UInt8(ascii: "]")) where stack.last?.isObject == false: pop()
    default: throw Fault(reason: "the JSON has a character in the wrong place")
    }
  }

  /// A value begins.
  private mutating func begin(_ byte: UInt8) throws(Fault) {
    let isOnWay = stack.last?.isMatch ?? true
    let isTarget = isOnWay && stack.count == pointer.count
    switch byte {
    case 0x22:
      if isTarget && isFound { throw Fault(reason: "the JSON has the text twice") }
      if isTarget { isFound = true }
      state = .string(isTarget ? .target : .other)
    case _ where isTarget: throw Fault(reason: "the JSON has no text at the place that `response` names")
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard stack.count < Self.depth else {
        throw Fault(reason: "the JSON is nested deeper than \(Self.depth)")
      }
      var container = Container(isObject: byte == UInt8(ascii: "{"), isOnWay: isOnWay)
      if !container.isObject {
        stack.append(container)
        container.isMatch = matches("0".utf8, container)
        stack.removeLast()
      }
      stack.append(container)
      state = container.isObject ? .firstKey : .firstElement
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "-"), 0x30...0x39:
      state = .scalar
    default: throw Fault(reason: "the JSON has a character in the wrong place")
    }
  }

  private mutating func pop() {
    stack.removeLast()
    state = afterValue
  }

  private var afterValue: State { stack.isEmpty ? .over : .afterValue }

  /// Whether a key of the innermost container is on the way.
  private func matches(_ key: some Collection<UInt8>, _ container: Container) -> Bool {
    let level = stack.count - 1
    return container.isOnWay && level >= 0 && level < pointer.count && pointer[level].elementsEqual(key)
  }

  // MARK: Strings

  private mutating func inString(_ byte: UInt8, _ use: Use) throws(Fault) -> UInt8? {
    switch byte {
    case 0x22:
      if case .key = use {
        if let last = stack.indices.last { stack[last].isMatch = matches(key, stack[last]) }
        state = .colon
      } else {
        state = afterValue
      }
      return nil
    case UInt8(ascii: "\\"):
      state = .escape(use)
      return nil
    case 0..<0x20: throw Fault(reason: "the JSON has a control character in a text")
    default: return put(byte, use)
    }
  }

  private mutating func inEscape(_ byte: UInt8, _ use: Use) throws(Fault) -> UInt8? {
    state = .string(use)
    switch byte {
    case 0x22, UInt8(ascii: "\\"), UInt8(ascii: "/"): return put(byte, use)
    case UInt8(ascii: "b"): return put(0x08, use)
    case UInt8(ascii: "f"): return put(0x0C, use)
    case UInt8(ascii: "n"): return put(0x0A, use)
    case UInt8(ascii: "r"): return put(0x0D, use)
    case UInt8(ascii: "t"): return put(0x09, use)
    case UInt8(ascii: "u"):
      state = .unicode(use, digits: 0, value: 0)
      return nil
    default: throw Fault(reason: "the JSON has an escape that there is not")
    }
  }

  private mutating func inUnicode(
    _ byte: UInt8, _ use: Use, _ digits: Int, _ value: UInt32
  ) throws(Fault) -> UInt8? {
    guard let digit = Character(UnicodeScalar(byte)).hexDigitValue, byte < 0x80 else {
      throw Fault(reason: "the JSON has an escape that there is not")
    }
    let value = value << 4 | UInt32(digit)
    guard digits == 3 else {
      state = .unicode(use, digits: digits + 1, value: value)
      return nil
    }
    state = .string(use)
    if value < 0x80 { return put(UInt8(value), use) }
    guard case .key = use else {
      // No character of Base64; 0xFF is none either.
      return put(0xFF, use)
    }
    for byte in UnicodeScalar(value).map({ Array(String(Character($0)).utf8) }) ?? [0xFF] {
      _ = put(byte, use)
    }
    return nil
  }

  private mutating func put(_ byte: UInt8, _ use: Use) -> UInt8? {
    switch use {
    case .target: return byte
    case .key: if key.count < longestKey { key.append(byte) }
    case .other: break
    }
    return nil
  }
}
