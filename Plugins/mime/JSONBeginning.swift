import StageKit

/// Recognizes JSON (RFC 8259) where libmagic does not: beyond the part that libmagic reads.
enum JSONBeginning {
  /// How much is read, in bytes. Content that is JSON so far is taken for JSON.
  private static let reach = 1 << 20

  /// `application/json`, or `nil`: it is no object and no list, or it breaks the rules.
  static func type(of attachment: Attachment, _ head: UnsafeRawBufferPointer) throws(Outcome) -> String? {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let start = head.starts(with: mark) ? mark.count : 0
    let first = head[start...].first { !JSONText.isSpace($0) }
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
    var text = JSONText()
    var at = start
    while at < reach {
      let bytes = try attachment.read(64 << 10, at: Int64(at))
      if bytes.isEmpty { return text.isWhole ? "application/json" : nil }
      for byte in bytes where !text.read(byte) { return nil }
      at += bytes.count
    }
    return "application/json"
  }
}

/// Checks the structure of a JSON text byte by byte. Numbers and words are only checked for their letters.
struct JSONText {
  private enum State {
    case value, firstElement, firstKey, key, colon, behindValue, word, string, escape, keyString, keyEscape
  }

  private static let deepest = 256

  private var state = State.value
  /// The containers that are open: whether each is an object.
  private var open: [Bool] = []
  private var hasValue = false

  /// Whether the text is complete.
  var isWhole: Bool { hasValue && open.isEmpty && state == .behindValue }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0A ~= byte || byte == 0x0D }

  /// Returns `false` where the byte cannot follow.
  mutating func read(_ byte: UInt8) -> Bool {
    switch state {
    case .string, .keyString: return readString(byte, isKey: state == .keyString)
    case .escape, .keyEscape:
      state = state == .escape ? .string : .keyString
      return "\"\\/bfnrtu".utf8.contains(byte)
    case .word:
      if isWordPart(byte) { return true }
      state = .behindValue
      return read(byte)
    default: return Self.isSpace(byte) || readSign(byte)
    }
  }

  private mutating func readString(_ byte: UInt8, isKey: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "\""): state = isKey ? .colon : .behindValue
    case UInt8(ascii: "\\"): state = isKey ? .keyEscape : .escape
    default: return byte >= 0x20
    }
    return true
  }

  private mutating func readSign(_ byte: UInt8) -> Bool {
    switch (state, byte) {
    case (.value, _), (.firstElement, _):
      if state == .firstElement, byte == UInt8(ascii: "]") { return close(isObject: false) }
      return begin(byte)
    case (.firstKey, UInt8(ascii: "}")): return close(isObject: true)
    case (.firstKey, UInt8(ascii: "\"")), (.key, UInt8(ascii: "\"")): state = .keyString
    case (.colon, UInt8(ascii: ":")): state = .value
    case (.behindValue, UInt8(ascii: ",")):
      guard let isObject = open.last else { return false }
      state = isObject ? .key : .value
    case (.behindValue, UInt8(ascii: "]")): return close(isObject: false)
    case (.behindValue, UInt8(ascii: "}")): return close(isObject: true)
    default: return false
    }
    return true
  }

  private mutating func begin(_ byte: UInt8) -> Bool {
    hasValue = true
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      open.append(byte == UInt8(ascii: "{"))
      state = open.last == true ? .firstKey : .firstElement
      return open.count <= Self.deepest
    case UInt8(ascii: "\""): state = .string
    default:
      state = .word
      return isWordPart(byte)
    }
    return true
  }

  private mutating func close(isObject: Bool) -> Bool {
    state = .behindValue
    return open.popLast() == isObject
  }

  private func isWordPart(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || "truefalsn+-.E".utf8.contains(byte)
  }
}
