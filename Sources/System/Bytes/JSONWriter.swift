/// Builds one line of JSON (RFC 8259). Keys keep the order in which they are written.
public struct JSONWriter: ~Copyable, Sendable {
  private var bytes = ByteRoom(capacity: 1024)
  private var needsComma = false

  public init() {}

  public var text: String { bytes.text }

  public mutating func object(_ body: (inout JSONWriter) -> Void) { nest("{", "}", body) }
  public mutating func array(_ body: (inout JSONWriter) -> Void) { nest("[", "]", body) }

  public mutating func key(_ key: String) {
    quote(key, after: needsComma)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func value(_ value: String?) {
    guard let value else { return raw("null") }
    quote(value, after: needsComma)
    needsComma = true
  }

  public mutating func value(_ value: Int64?) {
    guard let value else { return raw("null") }
    raw(String(value))
  }
  public mutating func value(_ value: Bool) { raw(value ? "true" : "false") }

  /// Numbers that are not finite have no form in JSON and become null.
  public mutating func value(_ value: Double) {
    if let whole = Int64(exactly: value) { return raw(String(whole)) }
    raw(value.isFinite ? "\(value)" : "null")
  }

  /// A value that is JSON already.
  public mutating func raw(_ json: String) {
    var json = json
    json.withUTF8 { raw(UnsafeRawBufferPointer($0)) }
  }

  public mutating func raw(_ json: UnsafeRawBufferPointer) {
    separate()
    bytes.append(json)
  }

  public mutating func member(_ key: String, _ value: String?) {
    self.key(key)
    self.value(value)
  }

  public mutating func member(_ key: String, _ value: Bool) {
    self.key(key)
    self.value(value)
  }

  public mutating func member(_ key: String, _ value: Int64?) {
    self.key(key)
    self.value(value)
  }

  private mutating func nest(
    _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: (inout JSONWriter) -> Void
  ) {
    separate()
    bytes.append(UInt8(ascii: open))
    needsComma = false
    body(&self)
    bytes.append(UInt8(ascii: close))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  /// Writes a text in quotes. Most have nothing to escape, and are copied as they are.
  private mutating func quote(_ value: String, after comma: Bool) {
    var value = value
    value.withUTF8 { text in
      if comma { bytes.append(UInt8(ascii: ",")) }
      if !Self.isAnyEscaped(UnsafeRawBufferPointer(text)) {
        let place = bytes.take(text.count + 2)
        place.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        if let source = text.baseAddress { (place + 1).copyMemory(from: source, byteCount: text.count) }
        return (place + 1 + text.count).storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
      }
      bytes.append(UInt8(ascii: "\""))
      for byte in text { quote(byte) }
      bytes.append(UInt8(ascii: "\""))
    }
  }

  /// Whether a byte has to be escaped: a quotation mark, a backslash, a control character. Eight at a time: a difference that
  /// borrows from above a byte's highest bit was of a byte that is less.
  private static func isAnyEscaped(_ text: UnsafeRawBufferPointer) -> Bool {
    let (ones, high): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    func hasZero(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & high }
    var place = 0
    while place + 8 <= text.count {
      let word = text.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      let control = (word &- ones &* 0x20) & ~word & high
      let others = hasZero(word ^ ones &* 0x22) | hasZero(word ^ ones &* 0x5C) | hasZero(word ^ ones &* 0x7F)
      if control | others != 0 { return true }
      place += 8
    }
    while place < text.count {
      let byte = text[place]
      if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F { return true }
      place += 1
    }
    return false
  }

  private mutating func quote(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    case UInt8(ascii: "\n"): append("\\n")
    case UInt8(ascii: "\r"): append("\\r")
    case UInt8(ascii: "\t"): append("\\t")
    case 0..<0x20, 0x7F:
      append("\\u00")
      for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
    default: bytes.append(byte)
    }
  }

  private mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { bytes.append(UnsafeRawBufferPointer($0)) }
  }
}
