import CCrypto
import Platform

/// A key as files and environment variables write it.
enum KeyText {
  /// What a file may hold: 32 bytes, or 64 hexadecimal digits with or without a newline.
  static func ofFile(_ content: [UInt8]) -> [UInt8]? {
    key(content.count == MasterKey.size ? content : hexadecimal(line(content)))
  }

  /// What a variable may hold: 64 hexadecimal digits, or base64 of 32 bytes.
  static func ofVariable(_ content: [UInt8]) -> [UInt8]? {
    let line = line(content)
    return key(hexadecimal(line) ?? base64(line))
  }

  /// The same byte again and again is no key, but a placeholder.
  private static func key(_ bytes: [UInt8]?) -> [UInt8]? {
    bytes.flatMap { Set($0).count > 1 ? $0 : nil }
  }

  /// Without the newline at the end.
  private static func line(_ content: [UInt8]) -> ArraySlice<UInt8> {
    var line = content[...]
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.count < content.count, line.last == UInt8(ascii: "\r") { line.removeLast() }
    return line
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    guard digits.count == MasterKey.size * 2 else { return nil }
    return Hexadecimal.bytes(String(decoding: digits, as: UTF8.self))
  }

  /// With its padding (RFC 4648, section 4). libcrypto's decoder takes spaces and counts padding, so what does not
  /// encode to itself again is refused.
  private static func base64(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    let digits = Array(digits)
    guard digits.count == 44, digits.last == UInt8(ascii: "=") else { return nil }
    var bytes = [UInt8](repeating: 0, count: 33)
    defer { ProtectedFile.wipe(&bytes) }
    guard EVP_DecodeBlock(&bytes, digits, Int32(digits.count)) == bytes.count else { return nil }
    var again = [UInt8](repeating: 0, count: 45)
    defer { ProtectedFile.wipe(&again) }
    guard EVP_EncodeBlock(&again, bytes, Int32(MasterKey.size)) == digits.count,
      again.dropLast() == digits[...]
    else { return nil }
    return Array(bytes.prefix(MasterKey.size))
  }
}
