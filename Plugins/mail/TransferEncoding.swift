import StageKit

/// How a part says that it is encoded. Programs differ in what they make of a name that is not quite one: what one shows as it
/// is, another decodes.
enum TransferEncoding {
  /// Those of RFC 2045, section 6, two that programs write in their stead, and the names of uuencode that GMime decodes.
  private static let known: Set = [
    "7bit", "8bit", "7-bit", "8-bit", "binary", "base64", "quoted-printable", "uuencode", "x-uuencode",
    "x-uue",
  ]

  static func check(_ fields: [Field]) throws(Outcome) {
    for field in fields where field.isCalled("Content-Transfer-Encoding") {
      let value = trimmed(field.value)
      if value.isEmpty || known.contains(value.lowercased()) { continue }
      throw .reject(
        "damaged",
        "a part of it is encoded in a way that not all programs know: \(plainText(value, limit: 100))")
    }
  }

  private static func trimmed(_ value: [UInt8]) -> String {
    let space: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
    var value = value.drop(while: space.contains)
    while let last = value.last, space.contains(last) { value = value.dropLast() }
    // No name is as long, and the sentence cuts it.
    return String(decoding: value.prefix(200), as: UTF8.self)
  }
}
