import CUchardet

/// Finds out in which encoding a text is: by its mark, by what is declared, by what it says of itself as HTML or XML, and by its
/// letters.
public struct Detection {
  /// What a text is in.
  public struct Result: Equatable, Sendable {
    public let charset: Charset
    /// Bytes of the mark that it begins with.
    public let mark: Int
  }

  /// Bytes of a text that are looked at.
  public static let longest = 256 << 10
  /// Encodings that detection may find or look for.
  public static let candidates: [Charset] = names.split(separator: " ").compactMap {
    Charset(label: String($0))
  }
  private static let names = """
    utf-16le utf-16be windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 \
    windows-1258 windows-874 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-10 iso-8859-13 \
    iso-8859-15 iso-8859-16 koi8-r koi8-u ibm866 ibm850 ibm852 macintosh x-mac-cyrillic x-mac-ce shift_jis euc-jp iso-2022-jp gb18030 big5 \
    euc-kr iso-2022-kr
    """

  private let converters: Converters

  public init(_ converters: Converters) { self.converters = converters }

  /// - Parameters:
  ///   - bytes: the beginning of the text, up to ``longest``.
  ///   - declared: the label that came with it.
  ///   - isMarkup: it is HTML or XML.
  ///   - isCut: more follows.
  /// - Returns: `nil`: it is not sure.
  public func detect(
    _ bytes: UnsafeRawBufferPointer, declared: String? = nil, isMarkup: Bool = false, isCut: Bool = false
  ) -> Result? {
    let isCut = isCut || bytes.count > Self.longest
    let bytes = Self.whole(UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.longest)), isCut)
    if let marked = Self.mark(bytes) { return marked }
    if let charset = declared.flatMap(Charset.init(label:)), isIn(charset, bytes) {
      return Result(charset: charset, mark: 0)
    }
    if bytes.contains(0), let charset = wide(bytes) { return Result(charset: charset, mark: 0) }
    if isUTF8(bytes), !isShifted(bytes) { return Result(charset: .utf8, mark: 0) }
    if isMarkup, let charset = Markup.label(in: bytes).flatMap(Charset.init(label:)), isIn(charset, bytes) {
      return Result(charset: charset, mark: 0)
    }
    return (isMostlyUTF8(bytes) ? .utf8 : guess(bytes)).map { Result(charset: $0, mark: 0) }
  }

  private static func mark(_ bytes: UnsafeRawBufferPointer) -> Result? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return Result(charset: .utf8, mark: 3) }
    if bytes.starts(with: [0xFF, 0xFE]) { return Result(charset: .utf16LittleEndian, mark: 2) }
    if bytes.starts(with: [0xFE, 0xFF]) { return Result(charset: .utf16BigEndian, mark: 2) }
    return nil
  }

  /// Whether a text can be in an encoding that was declared for it. Programs declare the first two without a look at the text.
  private func isIn(_ charset: Charset, _ bytes: UnsafeRawBufferPointer) -> Bool {
    if charset == .windows1252 || charset == .utf8 {
      return charset == .utf8 ? isUTF8(bytes) : !isUTF8(bytes) && !hasControls(bytes)
    }
    guard let (text, faults) = converters.utf8(bytes, charset) else { return false }
    return faults <= 1 + text.count / 1000
  }

  private func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }

  /// Without the beginning of a character of UTF-8 at the end.
  private static func whole(_ bytes: UnsafeRawBufferPointer, _ isCut: Bool) -> UnsafeRawBufferPointer {
    guard isCut, let start = bytes.suffix(3).lastIndex(where: { $0 >= 0xC0 }) else { return bytes }
    return UnsafeRawBufferPointer(rebasing: bytes[..<start])
  }

  /// Whether it is UTF-8 with some damage: text in another encoding rarely has valid sequences by chance.
  private func isMostlyUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var (wellFormed, illFormed) = (0, 0)
    var rest = bytes.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    while true {
      switch parser.parseScalar(from: &rest) {
      case .valid(let units): if units.count > 1 { wellFormed += 1 }
      case .error: illFormed += 1
      case .emptyInput: return wellFormed > illFormed
      }
    }
  }

  /// Whether there are bytes without a character in Windows-1252.
  private func hasControls(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.contains { [0x81, 0x8D, 0x8F, 0x90, 0x9D].contains($0) }
  }

  /// Whether seven bits switch between sets of characters (ISO 2022, HZ), or may.
  private func isShifted(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var isAfterTilde = false
    for byte in bytes {
      if byte == 0x1B || isAfterTilde && byte == UInt8(ascii: "{") { return Self.uchardet(bytes) != "ASCII" }
      isAfterTilde = byte == UInt8(ascii: "~")
    }
    return false
  }

  /// UTF-16 without a mark: every other byte of most texts is zero, or of some scripts one number.
  private func wide(_ bytes: UnsafeRawBufferPointer) -> Charset? {
    guard bytes.count >= 8 else { return nil }
    let pairs = bytes.count / 2
    var zeros = (even: 0, odd: 0)
    for index in 0..<pairs {
      if bytes[2 * index] == 0 { zeros.even += 1 }
      if bytes[2 * index + 1] == 0 { zeros.odd += 1 }
    }
    let charset: Charset
    if zeros.odd * 10 >= pairs, zeros.even * 20 <= zeros.odd {
      charset = .utf16LittleEndian
    } else if zeros.even * 10 >= pairs, zeros.odd * 20 <= zeros.even {
      charset = .utf16BigEndian
    } else {
      return nil
    }
    let whole = UnsafeRawBufferPointer(rebasing: bytes[..<(2 * pairs)])
    return isPlausible(whole, charset) ? charset : nil
  }

  // MARK: By its letters

  private func guess(_ bytes: UnsafeRawBufferPointer) -> Charset? {
    if bytes.contains(0) { return nil }
    guard let found = Self.uchardet(bytes).flatMap(Charset.init(label:)) else { return nil }
    // A few letters beyond ASCII may be of any language: most often they are of Western Europe.
    let isFew = 1..<4 ~= bytes.count { $0 >= 0x80 }
    let family = isFew ? Self.western.compactMap(Charset.init(label:)) : family(of: found, bytes)
    return family.first { isPlausible(bytes, $0) }
  }

  private static func uchardet(_ bytes: UnsafeRawBufferPointer) -> String? {
    guard let detector = uchardet_new() else { return nil }
    defer { uchardet_delete(detector) }
    let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    guard uchardet_handle_data(detector, base, bytes.count) == 0 else { return nil }
    uchardet_data_end(detector)
    return uchardet_get_charset(detector).map { String(cString: $0) }
  }

  private static let western = ["windows-1252", "iso-8859-2", "macintosh", "ibm850"]

  /// Encodings that differ in few characters, those first that the bytes speak for.
  private func family(of found: Charset, _ bytes: UnsafeRawBufferPointer) -> [Charset] {
    let high = Set(bytes.lazy.filter { $0 >= 0x80 })
    func has(_ some: UInt8...) -> Bool { some.contains { high.contains($0) } }
    /// What Windows has there and ISO 8859 has not.
    let isWindows = high.contains { $0 < 0xA0 }
    let order: [String]
    switch found.name {
    case "windows-1252", "iso-8859-15", "iso-8859-16", "iso-8859-3", "macintosh", "x-mac-ce", "ibm850":
      order = Self.western
    case "windows-1250", "iso-8859-2", "ibm852":
      // Of what differs, Polish has ą at 0xB9 of one and 0xB1 of the other; there the others have š.
      let isPolish = has(0xB9) && has(0xB3, 0xEA) && !has(0xB1, 0xB6, 0xBC)
      order = isWindows || isPolish ? ["windows-1250", "ibm850", "ibm852"] : ["iso-8859-2", "windows-1250"]
    case "windows-1253", "iso-8859-7":
      order = isWindows || has(0xA2) && !has(0xB6) ? ["windows-1253"] : ["iso-8859-7", "windows-1253"]
    case "koi8-r", "koi8-u":
      // Ukrainian letters, where the other has lines of frames.
      order = has(0xA4, 0xA6, 0xA7, 0xAD, 0xB4, 0xB6, 0xB7, 0xBD) ? ["koi8-u", "koi8-r"] : ["koi8-r"]
    case "iso-8859-13": order = ["windows-1257"]
    case "iso-8859-8": order = ["windows-1255", "iso-8859-8"]
    case "gbk": order = ["gb18030"]
    default: order = [found.name]
    }
    return order.compactMap(Charset.init(label:))
  }

  /// Whether a text reads as one: without faults and control characters, and without signs and changes of case in the midst of words.
  private func isPlausible(_ bytes: UnsafeRawBufferPointer, _ charset: Charset) -> Bool {
    guard let (text, faults) = converters.utf8(bytes, charset), faults <= bytes.count / 2000 else {
      return false
    }
    var (letters, odd) = (0, 0)
    var before: Unicode.Scalar?
    var beforeThat: Unicode.Scalar?
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      defer { (beforeThat, before) = (before, scalar) }
      if scalar.value < 0x20, ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains(scalar.value) { odd += 1 }
      if 0x7F...0x9F ~= scalar.value { odd += 1 }
      guard scalar.properties.isAlphabetic else { continue }
      letters += 1
      guard let last = before else { continue }
      if last.value >= 0x80, !last.properties.isAlphabetic, let first = beforeThat,
        first.properties.isAlphabetic,
        !Self.joins(last)
      {
        odd += 1
      }
      if last.properties.isLowercase, scalar.properties.isUppercase,
        last.value >= 0x80 || scalar.value >= 0x80
      {
        odd += 1
      }
    }
    return odd * 100 <= letters
  }

  /// Whether a sign may stand between letters: marks on letters, hyphens, apostrophes, middle dots, and signs of ideographic text.
  private static func joins(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .format, .dashPunctuation, .modifierLetter, .modifierSymbol: true
    default: [0xA0, 0xB7, 0x2018, 0x2019].contains(scalar.value) || scalar.value >= 0x2E00
    }
  }
}
