import Glibc

/// Which names of interest occur unencoded in a PDF.
///
/// poppler-glib does not report the kind of form, and looks for scripts on every page but not in the action
/// that opens the document. Names can be found without parsing: they are never encrypted, and compressed only
/// inside object streams, which require three names of their own (PDF 32000-1:2008, 7.5.7 and 7.5.8: `First`
/// and `N` of the stream, `W` of the cross-reference stream that leads to it; poppler does not require their
/// `Type`).
struct Names: OptionSet {
  let rawValue: UInt8

  static let form = Names(rawValue: 1)
  static let xfa = Names(rawValue: 2)
  static let encryption = Names(rawValue: 4)
  /// Every script has this name, except those of a rendition (12.6.4.13 and 12.6.4.16).
  static let script = Names(rawValue: 8)
  private static let source = Names(rawValue: 16)
  private static let first = Names(rawValue: 32)
  private static let number = Names(rawValue: 64)
  private static let widths = Names(rawValue: 128)

  /// Whether objects may be compressed, and hide other names.
  var mayBeCompressed: Bool { isSuperset(of: [.first, .number, .widths]) }

  /// Whether there may be a script that `script` does not show. So short a name also occurs by chance.
  var mayHideScript: Bool { contains(.source) || mayBeCompressed }

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init(in bytes: UnsafeRawBufferPointer) {
    self = []
    guard var next = bytes.baseAddress else { return }
    let end = next + bytes.count
    while let slash = memchr(next, 0x2F, end - next) {
      next = UnsafeRawPointer(slash) + 1
      formUnion(Self.name(at: next, end))
    }
  }

  /// Reads one name up to its end, with `#` and two digits for any byte (7.3.5).
  private static func name(at start: UnsafeRawPointer, _ end: UnsafeRawPointer) -> Names {
    var packed: UInt128 = 0
    var next = start
    while next < end {
      var byte = next.load(as: UInt8.self)
      guard isRegular(byte) else { break }
      next += 1
      if byte == 0x23, end - next >= 2, let high = digit(next.load(as: UInt8.self)),
        let low = digit(next.load(fromByteOffset: 1, as: UInt8.self))
      {
        byte = high << 4 | low
        next += 2
      }
      if packed >> 72 != 0 { return [] }  // longer than any name of interest
      packed = packed << 8 | UInt128(byte)
    }
    // A string that ends with `/JavaScript)`, such as an address: perhaps not a name.
    if next < end, next.load(as: UInt8.self) == UInt8(ascii: ")"), known(packed) == .script { return .source }
    return known(packed)
  }

  /// By the bytes of the name, the last one lowest.
  private static func known(_ packed: UInt128) -> Names {
    switch packed {
    case 0x4163726F466F726D: .form  // AcroForm
    case 0x584641: .xfa  // XFA
    case 0x4A617661536372697074: .script  // JavaScript
    case 0x4A53: .source  // JS
    case 0x4669727374: .first  // First
    case 0x4E: .number  // N
    case 0x456E6372797074: .encryption  // Encrypt
    case 0x57: .widths  // W
    default: []
    }
  }

  /// Neither white space nor a delimiter (7.2.2).
  private static func isRegular(_ byte: UInt8) -> Bool {
    switch byte {
    case 0, 9, 10, 12, 13, 32: false
    case 0x28, 0x29, 0x3C, 0x3E, 0x5B, 0x5D, 0x7B, 0x7D, 0x2F, 0x25: false  // ()<>[]{}/%
    default: true
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
