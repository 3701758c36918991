/// Builds one line of JSON (RFC 8259). Keys keep the order in which they are written.
public struct JSONWriter: Sendable {
  private var bytes: [UInt8] = []
  private var needsComma = false

  public init() {
    bytes.reserveCapacity(512)
  }

  public var text: String { String(decoding: bytes, as: UTF8.self) }

  public mutating func object(_ body: (inout JSONWriter) -> Void) { nest("{", "}", body) }
  public mutating func array(_ body: (inout JSONWriter) -> Void) { nest("[", "]", body) }

  public mutating func key(_ key: String) {
    separate()
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func value(_ value: String?) {
    separate()
    if let value { quote(value) } else { bytes.append(contentsOf: "null".utf8) }
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
    var json = json
    json.withUTF8 { raw(UnsafeRawBufferPointer($0)) }
  }

  public mutating func raw(_ json: UnsafeRawBufferPointer) {
    separate()
    bytes.append(contentsOf: json)
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

  private mutating func quote(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    if value.utf8.withContiguousStorageIfAvailable({ append($0) }) == nil {
      for byte in value.utf8 { quote(byte) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func append(_ value: UnsafeBufferPointer<UInt8>) {
    for byte in value where byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F {
      for byte in value { quote(byte) }
      return
    }
    bytes.append(contentsOf: value)
  }

  private mutating func quote(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
    case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
    case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
    case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
    case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
    case 0..<0x20, 0x7F:
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(contentsOf: Hexadecimal.text([byte]).utf8)
    default: bytes.append(byte)
    }
  }
}
