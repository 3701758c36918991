import FrontWire
import LedgerPort
import Platform

extension FrontRequest {
  /// The trace that it belongs to, in version 00; `nil`: none, or one that is not understood, which is to be passed over
  /// (https://www.w3.org/TR/trace-context/#a-traceparent-is-received).
  var traceparent: String? { field("traceparent").flatMap(Self.traceparent) }

  /// Of a version after 00, its first four fields are those of version 00, and of its flags only the last bit is known; what is
  /// behind them is left out (https://www.w3.org/TR/trace-context/#versioning-of-traceparent).
  static func traceparent(_ text: String) -> String? {
    if IntakeItem.isTraceparent(text) { return text }
    let parts = text.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count >= 4, let version = Hexadecimal.bytes(String(parts[0])), version.count == 1,
      parts[0].utf8.elementsEqual(Hexadecimal.text(version).utf8), version[0] != 0x00, version[0] != 0xFF,
      let flags = Hexadecimal.bytes(String(parts[3])), flags.count == 1,
      parts[3].utf8.elementsEqual(Hexadecimal.text(flags).utf8)
    else { return nil }
    let known = "00-\(parts[1])-\(parts[2])-0\(flags[0] & 1)"
    return IntakeItem.isTraceparent(known) ? known : nil
  }
}
