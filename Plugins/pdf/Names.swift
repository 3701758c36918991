import Glibc

/// Which names of interest occur unencoded in a PDF.
///
/// poppler-glib does not report the kind of form, and looks for scripts on every page but not in the action
/// that opens the document. Names can be found without parsing: they are never encrypted, and compressed only
/// inside object streams, which require three names of their own (PDF 32000-1:2008, 7.5.7 and 7.5.8: `First`
/// and `N` of the stream, which are numbers, and `W` of the cross-reference stream that leads to it, which is an
/// array of three numbers that stands there itself; poppler does not require their `Type`).
struct Names: OptionSet {
  let rawValue: UInt8

  static let form = Names(rawValue: 1)
  static let xfa = Names(rawValue: 2)
  static let encryption = Names(rawValue: 4)
  /// Every script has this name, except those of a rendition (12.6.4.13 and 12.6.4.16).
  static let script = Names(rawValue: 8)
  static let source = Names(rawValue: 16)
  /// Before a number.
  static let first = Names(rawValue: 32)
  private static let number = Names(rawValue: 64)
  private static let widths = Names(rawValue: 128)

  /// Whether there may be cross-reference streams.
  var mayHaveReferenceStreams: Bool { contains(.widths) }

  /// Whether objects may be compressed, and hide other names.
  var mayBeCompressed: Bool { isSuperset(of: [.first, .number, .widths]) }

  /// Whether there may be a script that `script` does not show. So short a name also occurs by chance.
  var mayHideScript: Bool { contains(.source) || mayBeCompressed }

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init(in bytes: UnsafeRawBufferPointer) {
    var names: Names = []
    Self.visit(bytes) { _, name in
      names.formUnion(name)
      return true
    }
    self = names
  }

  /// The offsets of the slashes before each of a name's occurrences; `nil` if there are more than `limit`.
  static func offsets(of wanted: Names, in bytes: UnsafeRawBufferPointer, limit: Int) -> [Int]? {
    var offsets: [Int] = []
    visit(bytes) { offset, name in
      if name == wanted { offsets.append(offset) }
      return offsets.count <= limit
    }
    return offsets.count <= limit ? offsets : nil
  }

  /// Hands over each name that may be of interest with the offset of its slash, until `body` returns false.
  @inline(__always) private static func visit(_ bytes: UnsafeRawBufferPointer, _ body: (Int, Names) -> Bool) {
    guard let start = bytes.baseAddress else { return }
    var next = start
    let end = start + bytes.count
    while let slash = memchr(next, 0x2F, end - next) {
      next = UnsafeRawPointer(slash) + 1
      guard next < end, mayBegin(next.load(as: UInt8.self)) else { continue }
      guard body(UnsafeRawPointer(slash) - start, name(at: next, end)) else { return }
    }
  }

  /// Whether a name of interest, as it is or encoded, can begin so. Compressed data have a slash every 256 bytes.
  private static func mayBegin(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x41, 0x45, 0x46, 0x4A, 0x4E, 0x57, 0x58, 0x23: true  // A E F J N W X #
    default: false
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
    let name = known(packed)
    switch name {
    case .first, .number: return startsNumber(next, end) ? name : []
    case .widths: return startsNumbers(next, end) ? name : []
    default: return name
    }
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

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

// MARK: Values

/// What stands after a name. Where it goes on for more than `reach` bytes, it may be anything.
extension Names {
  /// Bounds the work for a file of many names and one comment.
  private static let reach = 256

  private static func startsNumber(_ start: UnsafeRawPointer, _ end: UnsafeRawPointer) -> Bool {
    guard let next = token(at: start, min(end, start + reach)) else { return end - start > reach }
    return isNumber(next)
  }

  /// Whether an array of at least three numbers follows.
  private static func startsNumbers(_ start: UnsafeRawPointer, _ end: UnsafeRawPointer) -> Bool {
    let near = min(end, start + reach)
    guard var next = token(at: start, near) else { return end > near }
    guard next.load(as: UInt8.self) == UInt8(ascii: "[") else { return false }
    next += 1
    for _ in 1...3 {
      guard let number = token(at: next, near) else { return end > near }
      guard isNumber(number) else { return false }
      next = number
      while next < near, isRegular(next.load(as: UInt8.self)) { next += 1 }
    }
    return true
  }

  private static func isNumber(_ token: UnsafeRawPointer) -> Bool {
    switch token.load(as: UInt8.self) {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), 0x2B, 0x2D, 0x2E: true  // + - .
    default: false
    }
  }

  /// The first byte that is neither white space nor in a comment (7.2.2 and 7.2.3).
  private static func token(at start: UnsafeRawPointer, _ end: UnsafeRawPointer) -> UnsafeRawPointer? {
    var isComment = false
    var next = start
    while next < end {
      let byte = next.load(as: UInt8.self)
      if isComment {
        isComment = byte != 10 && byte != 13
      } else if byte == UInt8(ascii: "%") {
        isComment = true
      } else if !isSpace(byte) {
        return next
      }
      next += 1
    }
    return nil
  }
}

/// White space (7.2.2).
func isSpace(_ byte: UInt8) -> Bool {
  switch byte {
  case 0, 9, 10, 12, 13, 32: true
  default: false
  }
}

/// Neither white space nor a delimiter (7.2.2).
func isRegular(_ byte: UInt8) -> Bool {
  switch byte {
  case 0, 9, 10, 12, 13, 32: false
  case 0x28, 0x29, 0x3C, 0x3E, 0x5B, 0x5D, 0x7B, 0x7D, 0x2F, 0x25: false  // ()<>[]{}/%
  default: true
  }
}
