/// The addresses of a field such as `To` (RFC 5322, section 3.4), without names and comments.
///
/// What is malformed gives no address, and takes none of its neighbours with it as far as these can be told apart. An address
/// that a reader of mail would take otherwise is none either, such as the second of two in angle brackets.
struct AddressList {
  /// In order, as they are written; the domain is not put in lower case.
  private(set) var addresses: [String] = []

  /// What an address has at most, in bytes (RFC 5321, section 4.5.3.1.3, without its angle brackets).
  static let longest = 254

  /// What stands outside of angle brackets, since the last comma.
  private var words: [AddressToken] = []
  /// What stands in them; `nil`: there are none.
  private var angle: [AddressToken]?
  private var isInAngle = false
  private var isMalformed = false

  /// - Parameter body: of the field, unfolded.
  init(_ body: [UInt8]) {
    var tokens = AddressTokens(body)
    while let token = tokens.next() { take(token) }
    endMailbox()
  }

  private mutating func take(_ token: AddressToken) {
    switch (token, isInAngle) {
    case (.special(">"), true): isInAngle = false
    case (.special("<"), true): isMalformed = true
    case (_, true): angle?.append(token)
    case (.special("<"), false):
      isMalformed = isMalformed || angle != nil
      (angle, isInAngle) = ([], true)
    case (.special(","), false), (.special(";"), false): endMailbox()
    case (.special(":"), false): drop()  // before it is the name of a group
    case (_, false):
      if angle != nil { isMalformed = true } else { words.append(token) }
    }
  }

  private mutating func endMailbox() {
    if !isMalformed && !isInAngle, let address = address() { addresses.append(address) }
    drop()
  }

  private mutating func drop() {
    words.removeAll(keepingCapacity: true)
    (angle, isInAngle, isMalformed) = (nil, false, false)
  }

  /// `nil`: it is none.
  private func address() -> String? {
    var rest = (angle ?? words)[...]
    if angle != nil, rest.first == .special("@") {
      // A route, as mails had it once: `<@one,@two:user@host>`.
      guard let colon = rest.firstIndex(of: .special(":")) else { return nil }
      rest = rest[(colon + 1)...]
    }
    guard let at = rest.firstIndex(of: .special("@")) else { return nil }
    guard let local = Self.dotted(rest[..<at], { $0.localBytes }),
      let domain = Self.domain(rest[(at + 1)...])
    else { return nil }
    let bytes = local + [UInt8(ascii: "@")] + domain
    return bytes.count > Self.longest ? nil : String(validating: bytes, as: UTF8.self)
  }

  private static func domain(_ tokens: ArraySlice<AddressToken>) -> [UInt8]? {
    if tokens.count == 1, case .literal(let bytes)? = tokens.first { return bytes }
    return dotted(tokens) { $0.domainBytes }
  }

  /// Words with dots in between.
  private static func dotted(
    _ tokens: ArraySlice<AddressToken>, _ word: (AddressToken) -> [UInt8]?
  ) -> [UInt8]? {
    if tokens.count % 2 == 0 { return nil }
    var bytes: [UInt8] = []
    for (number, token) in tokens.enumerated() {
      if number % 2 == 1 {
        if token != .special(".") { return nil }
        bytes.append(UInt8(ascii: "."))
      } else if let word = word(token) {
        bytes += word
      } else {
        return nil
      }
    }
    return bytes
  }
}
