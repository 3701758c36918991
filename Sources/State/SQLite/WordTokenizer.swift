import CSQLite

/// The words of a text, for indexes of FTS5: those of SQLite's `unicode61`, and each character of a script without spaces between words.
///
/// A search for several such characters is a search for a phrase. It finds words of any length, and needs no dictionary; SQLite's `trigram`
/// finds none with fewer than three characters (https://sqlite.org/fts5.html#the_trigram_tokenizer).
final class WordTokenizer {
  /// As in `tokenize = 'words remove_diacritics 2'`; the options are those of `unicode61`.
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
    ) -> Int32 = { context, arguments, count, result in
      guard let api = context?.assumingMemoryBound(to: fts5_api.self), let result else { return SQLITE_ERROR }
      var (methods, baseContext) = (fts5_tokenizer(), nil as UnsafeMutableRawPointer?)
      var code = WordTokenizer.base.withCString {
        api.pointee.xFindTokenizer(api, $0, &baseContext, &methods)
      }
      if code != SQLITE_OK { return code }
      var instance: OpaquePointer?
      code = methods.xCreate(baseContext, arguments, count, &instance)
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

  /// A part of a text on its way to `unicode61`: who is told, and where the part begins.
  private struct Part {
    var context: UnsafeMutableRawPointer?
    var tell: Tell
    var start: Int32
  }

  private func tokenize(
    _ text: UnsafeBufferPointer<CChar>, _ flags: Int32, _ context: UnsafeMutableRawPointer?, _ tell: Tell
  ) -> Int32 {
    var (start, place) = (0, 0)
    while place < text.count {
      let width = Self.widthOfWord(text, place)
      if width == 0 {
        place += 1
        continue
      }
      var code = tokenize(text, start..<place, flags, context, tell)
      if code != SQLITE_OK { return code }
      code = tell(
        context, 0, text.baseAddress.map { $0 + place }, Int32(width), Int32(place), Int32(place + width))
      if code != SQLITE_OK { return code }
      place += width
      start = place
    }
    return tokenize(text, start..<place, flags, context, tell)
  }

  private func tokenize(
    _ text: UnsafeBufferPointer<CChar>, _ range: Range<Int>, _ flags: Int32,
    _ context: UnsafeMutableRawPointer?, _ tell: Tell
  ) -> Int32 {
    guard !range.isEmpty, let first = text.baseAddress else { return SQLITE_OK }
    var part = Part(context: context, tell: tell, start: Int32(range.lowerBound))
    return methods.xTokenize(instance, &part, flags, first + range.lowerBound, Int32(range.count)) {
      guard let part = $0?.assumingMemoryBound(to: Part.self).pointee else { return SQLITE_ERROR }
      return part.tell(part.context, $1, $2, $3, $4 + part.start, $5 + part.start)
    }
  }

  /// The length in bytes of a character that is a word of its own; 0: there is none.
  private static func widthOfWord(_ text: UnsafeBufferPointer<CChar>, _ place: Int) -> Int {
    let lead = UInt32(UInt8(bitPattern: text[place]))
    // Shorter characters are of other scripts.
    let width = lead >= 0xF0 ? 4 : 3
    guard lead >= 0xE0, place + width <= text.count else { return 0 }
    var scalar = lead & (lead >= 0xF0 ? 0x07 : 0x0F)
    for index in 1..<width { scalar = scalar << 6 | UInt32(UInt8(bitPattern: text[place + index])) & 0x3F }
    return isWord(scalar) ? width : 0
  }

  /// Scripts without spaces between words (Unicode 15, Scripts.txt), and pictures such as emoji.
  private static func isWord(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x0E01...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF: true  // Thai, Lao, Myanmar, Khmer
    case 0x2600...0x27BF, 0x1F300...0x1FAFF: true
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
