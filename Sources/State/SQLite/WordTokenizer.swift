import CSQLite
import CUnistring
import Glibc

/// Cuts a text into words for indexes of FTS5: the words of SQLite's `unicode61`, and single characters in scripts without spaces.
///
/// The case of letters, their accents, their width and their composition make no difference (UAX #15, NFKD; UAX #21, case folding). A
/// search for several characters of a script without spaces is a search for a phrase: it finds words of any length and needs no
/// dictionary. SQLite's `trigram` finds no words with fewer than three characters (https://sqlite.org/fts5.html#the_trigram_tokenizer).
final class WordTokenizer {
  /// As in `tokenize = 'words'`.
  static let name: StaticString = "words"
  private static let base: StaticString = "unicode61"

  private let methods: fts5_tokenizer
  private let instance: OpaquePointer

  private init(_ methods: fts5_tokenizer, _ instance: OpaquePointer) {
    (self.methods, self.instance) = (methods, instance)
  }

  deinit { methods.xDelete(instance) }

  /// Makes it known to a connection.
  static func add(to database: OpaquePointer) -> Int32 {
    var api: UnsafeMutablePointer<fts5_api>?
    var statement: OpaquePointer?
    var code = sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, nil)
    if code != SQLITE_OK { return code }
    withUnsafeMutablePointer(to: &api) { place in
      let type: StaticString = "fts5_api_ptr"
      _ = type.withCString { sqlite3_bind_pointer(statement, 1, place, $0, nil) }
      sqlite3_step(statement)
    }
    code = sqlite3_finalize(statement)
    guard code == SQLITE_OK, let api else { return code == SQLITE_OK ? SQLITE_ERROR : code }
    var methods = fts5_tokenizer(xCreate: create, xDelete: delete, xTokenize: tokenize)
    return name.withCString { api.pointee.xCreateTokenizer(api, $0, api, &methods, nil) }
  }

  private static let create:
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, Int32,
      UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 = { context, _, _, result in
      guard let api = context?.assumingMemoryBound(to: fts5_api.self), let result else { return SQLITE_ERROR }
      var (methods, baseContext) = (fts5_tokenizer(), nil as UnsafeMutableRawPointer?)
      var code = WordTokenizer.base.withCString {
        api.pointee.xFindTokenizer(api, $0, &baseContext, &methods)
      }
      if code != SQLITE_OK { return code }
      // Marks within words, such as the vowels of Hindi, are a part of them. Accents are removed here.
      let options: [StaticString] = ["categories", "L* N* Co Mn Mc", "remove_diacritics", "0"]
      var words = options.map { Optional($0.withCString { $0 }) }
      var instance: OpaquePointer?
      code = methods.xCreate(baseContext, &words, Int32(words.count), &instance)
      guard code == SQLITE_OK, let instance else { return code }
      let tokenizer = WordTokenizer(methods, instance)
      result.pointee = OpaquePointer(Unmanaged.passRetained(tokenizer).toOpaque())
      return SQLITE_OK
    }

  private static let delete: @convention(c) (OpaquePointer?) -> Void = { tokenizer in
    guard let tokenizer else { return }
    Unmanaged<WordTokenizer>.fromOpaque(UnsafeRawPointer(tokenizer)).release()
  }

  private typealias Tell =
    @convention(c) (
      UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Int32, Int32
    ) -> Int32

  private static let tokenize:
    @convention(c) (
      OpaquePointer?, UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, Tell?
    ) -> Int32 = { tokenizer, context, flags, text, count, tell in
      guard let tokenizer, let text, let tell else { return SQLITE_OK }
      let own = Unmanaged<WordTokenizer>.fromOpaque(UnsafeRawPointer(tokenizer)).takeUnretainedValue()
      return own.tokenize(UnsafeBufferPointer(start: text, count: Int(count)), flags, context, tell)
    }

  /// A part of a text on its way through `unicode61`, with the receiver of its words.
  private struct Part {
    var context: UnsafeMutableRawPointer?
    var tell: Tell
    var text: UnsafePointer<CChar>
    var start: Int32
  }

  private func tokenize(
    _ text: UnsafeBufferPointer<CChar>, _ flags: Int32, _ context: UnsafeMutableRawPointer?, _ tell: Tell
  ) -> Int32 {
    guard let first = text.baseAddress else { return SQLITE_OK }
    var (start, place) = (0, 0)
    while place < text.count {
      let width = Self.widthOfWord(text, place)
      if width == 0 {
        place += 1
        continue
      }
      var code = tokenize(first, start..<place, flags, context, tell)
      if code != SQLITE_OK { return code }
      code = Self.tell(tell, context, 0, first, Int32(place), Int32(place + width))
      if code != SQLITE_OK { return code }
      place += width
      start = place
    }
    return tokenize(first, start..<place, flags, context, tell)
  }

  private func tokenize(
    _ text: UnsafePointer<CChar>, _ range: Range<Int>, _ flags: Int32, _ context: UnsafeMutableRawPointer?,
    _ tell: Tell
  ) -> Int32 {
    if range.isEmpty { return SQLITE_OK }
    var part = Part(context: context, tell: tell, text: text, start: Int32(range.lowerBound))
    return methods.xTokenize(instance, &part, flags, text + range.lowerBound, Int32(range.count)) {
      guard let part = $0?.assumingMemoryBound(to: Part.self).pointee else { return SQLITE_ERROR }
      let (start, end) = ($4 + part.start, $5 + part.start)
      if (start..<end).allSatisfy({ part.text[Int($0)] >= 0 }) {
        return part.tell(part.context, $1, $2, $3, start, end)
      }
      return WordTokenizer.tell(part.tell, part.context, $1, part.text, start, end)
    }
  }

  /// Tells a word in the form in which it is compared.
  private static func tell(
    _ tell: Tell, _ context: UnsafeMutableRawPointer?, _ flags: Int32, _ text: UnsafePointer<CChar>,
    _ start: Int32, _ end: Int32
  ) -> Int32 {
    let count = Int(end - start)
    let word = UnsafeRawPointer(text + Int(start)).assumingMemoryBound(to: UInt8.self)
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { room in
      var length = room.count
      guard let folded = sluice_fold(word, count, room.baseAddress, &length) else {
        return errno == ENOMEM
          ? SQLITE_NOMEM : tell(context, flags, text + Int(start), Int32(count), start, end)
      }
      defer { if folded != room.baseAddress { free(folded) } }
      let plain = removeMarks(UnsafeMutableBufferPointer(start: folded, count: length))
      return folded.withMemoryRebound(to: CChar.self, capacity: length) {
        plain == 0 ? SQLITE_OK : tell(context, flags, $0, Int32(plain), start, end)
      }
    }
  }

  /// Removes the accents from a decomposed word, and replaces letters with strokes.
  ///
  /// - Returns: its length.
  private static func removeMarks(_ word: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var (from, to) = (0, 0)
    while from < word.count {
      let lead = word[from]
      // A choice between forms: U+FE00 to U+FE0F.
      if lead == 0xEF, from + 2 < word.count, word[from + 1] == 0xB8, word[from + 2] <= 0x8F {
        from += 3
        continue
      }
      guard lead >= 0xC3, lead <= 0xDF, from + 1 < word.count else {
        word[to] = lead
        (from, to) = (from + 1, to + 1)
        continue
      }
      let scalar = UInt32(lead & 0x1F) << 6 | UInt32(word[from + 1] & 0x3F)
      if let letter = plainLetter(scalar) {
        word[to] = letter
        to += 1
      } else if !isMark(scalar) {
        (word[to], word[to + 1]) = (lead, word[from + 1])
        to += 2
      }
      from += 2
    }
    return to
  }

  /// Letters that Unicode does not decompose, and that many keyboards lack.
  private static func plainLetter(_ scalar: UInt32) -> UInt8? {
    switch scalar {
    case 0xF8: UInt8(ascii: "o")
    case 0x111: UInt8(ascii: "d")
    case 0x127: UInt8(ascii: "h")
    case 0x131: UInt8(ascii: "i")
    case 0x142: UInt8(ascii: "l")
    case 0x167: UInt8(ascii: "t")
    default: nil
    }
  }

  /// Accents, the points of Hebrew and the vowel signs of Arabic.
  private static func isMark(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x300...0x36F, 0x591...0x5BD, 0x5BF, 0x5C1...0x5C2, 0x5C4...0x5C5, 0x5C7: true
    case 0x610...0x61A, 0x640, 0x64B...0x65F, 0x670: true
    default: false
    }
  }

  /// The length in bytes of a one-character word with its marks; 0: there is no such word here.
  private static func widthOfWord(_ text: UnsafeBufferPointer<CChar>, _ place: Int) -> Int {
    guard let (scalar, width) = scalar(text, place), isWord(scalar) else { return 0 }
    var end = place + width
    while let (next, width) = self.scalar(text, end), isMarkOfWord(next) { end += width }
    return end - place
  }

  /// A character of three or four bytes. Shorter characters are of scripts with spaces.
  private static func scalar(_ text: UnsafeBufferPointer<CChar>, _ place: Int) -> (UInt32, width: Int)? {
    guard place < text.count else { return nil }
    let lead = UInt32(UInt8(bitPattern: text[place]))
    let width = lead >= 0xF0 ? 4 : 3
    guard lead >= 0xE0, place + width <= text.count else { return nil }
    var scalar = lead & (lead >= 0xF0 ? 0x07 : 0x0F)
    for index in 1..<width { scalar = scalar << 6 | UInt32(UInt8(bitPattern: text[place + index])) & 0x3F }
    return (scalar, width)
  }

  /// The marks of voiced kana, and the choice between forms of a picture.
  private static func isMarkOfWord(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x3099, 0x309A, 0xFF9E, 0xFF9F, 0xFE00...0xFE0F: true
    default: false
    }
  }

  /// Scripts without spaces between words (Unicode 15, Scripts.txt), and pictures such as emoji.
  private static func isWord(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x0E01...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF: true  // Thai, Lao, Myanmar, Khmer
    case 0x2600...0x27BF, 0x1F000...0x1FAFF: true
    case 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3040...0x30FA, 0x30FC...0x312F: true
    case 0x31A0...0x31BF, 0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF: true
    case 0xFF66...0xFF9F, 0x1B000...0x1B16F, 0x20000...0x3FFFF: true
    default: false
    }
  }
}

extension StaticString {
  /// With its bytes, which last and end with a zero.
  fileprivate func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    body(UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self))
  }
}
