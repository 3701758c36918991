/// Builds one line of JSON (RFC 8259), keys in the order they are written.
public struct JSONWriter: Sendable {
  public private(set) var text = ""
  private var needsComma = false

  public init() {
    text.reserveCapacity(512)
  }

  public mutating func object(_ body: (inout JSONWriter) -> Void) { nest("{", "}", body) }
  public mutating func array(_ body: (inout JSONWriter) -> Void) { nest("[", "]", body) }

  public mutating func key(_ key: String) {
    separate()
    quote(key)
    text += ":"
    needsComma = false
  }

  public mutating func value(_ value: String?) {
    separate()
    if let value { quote(value) } else { text += "null" }
  }

  public mutating func value(_ value: Int64?) { raw(value.map(String.init) ?? "null") }
  public mutating func value(_ value: Bool) { raw(value ? "true" : "false") }

  /// Numbers that are not finite have no form in JSON and become null.
  public mutating func value(_ value: Double) {
    if let whole = Int64(exactly: value) { return raw(String(whole)) }
    raw(value.isFinite ? "\(value)" : "null")
  }

  /// A value that is JSON already.
  public mutating func raw(_ json: String) {
    separate()
    text += json
  }

  public mutating func member(_ key: String, _ value: String?) {
    self.key(key)
    self.value(value)
  }

  public mutating func member(_ key: String, _ value: Int64?) {
    self.key(key)
    self.value(value)
  }

  private mutating func nest(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void) {
    separate()
    text += open
    needsComma = false
    body(&self)
    text += close
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { text += "," }
    needsComma = true
  }

  private mutating func quote(_ value: String) {
    text += "\""
    let plain = value.utf8.allSatisfy {
      $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F
    }
    if plain {
      text += value
    } else {
      for scalar in value.unicodeScalars { quote(scalar) }
    }
    text += "\""
  }

  private mutating func quote(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "\"": text += "\\\""
    case "\\": text += "\\\\"
    case "\n": text += "\\n"
    case "\r": text += "\\r"
    case "\t": text += "\\t"
    default:
      if scalar.value < 0x20 || scalar.value == 0x7F {
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }
}
