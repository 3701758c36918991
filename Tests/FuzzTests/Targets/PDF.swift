@testable import PDFStage

extension FuzzTarget {
  /// The names in a PDF, compared with a simple reference search.
  static let pdf = FuzzTarget(name: "pdf") { bytes in
    let names = bytes.withUnsafeBytes { Names(in: $0) }
    for (name, flag) in [
      ("AcroForm", Names.form), ("XFA", .xfa), ("Encrypt", .encryption), ("JavaScript", .script),
    ] where plainNames(bytes).contains(name) {
      try demand(names.contains(flag), "/\(name) was not seen")
    }
  }

  /// Every name that ends before a delimiter other than `)`; with `#` and two digits for any byte.
  private static func plainNames(_ bytes: [UInt8]) -> Set<String> {
    let ends = Set([0, 9, 10, 12, 13, 32] + Array("()<>[]{}/%".utf8))
    var names: Set<String> = []
    for slash in bytes.indices where bytes[slash] == UInt8(ascii: "/") {
      let raw = bytes[(slash + 1)...].prefix { !ends.contains($0) }
      if raw.endIndex < bytes.endIndex, bytes[raw.endIndex] == UInt8(ascii: ")") { continue }
      var name: [UInt8] = []
      var rest = raw
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "#"), let value = UInt8(text(rest.prefix(2)), radix: 16), rest.count >= 2,
          rest.first != UInt8(ascii: "+")
        {
          name.append(value)
          rest = rest.dropFirst(2)
        } else {
          name.append(byte)
        }
      }
      names.insert(text(name))
    }
    return names
  }
}
