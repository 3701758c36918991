import CGMime
import Charsets
import StageKit

/// The headers of a mail as metadata.
struct Headers {
  private let message: UnsafeMutablePointer<GMimeMessage>
  private let fields: [Field]
  private let words: EncodedWords

  /// Bytes of one value.
  static let longest = 2000
  /// Addresses of one header: to write out a million of them would take seconds.
  private static let mostAddresses = 50

  /// - Parameter content: the bytes of the parsed mail.
  init(_ parsed: Parsed, _ content: UnsafeRawBufferPointer, _ words: EncodedWords) {
    message = parsed.message
    fields = Field.all(of: sluice_message_object(message), in: content)
    self.words = words
  }

  func annotate(_ attachment: Attachment) {
    let values = [
      ("mail.subject", subject), ("mail.from", addresses("From")), ("mail.to", addresses("To")),
      ("mail.cc", addresses("Cc")), ("mail.date", date),
      ("mail.message-id", text(g_mime_message_get_message_id(message))),
    ]
    for (key, value) in values {
      if let value = value.map({ plainText($0, limit: Self.longest) }), !value.isEmpty {
        attachment.annotate(key, value)
      }
    }
  }

  var subject: String? { body("Subject").map { words.decoded($0) }.map(Self.trimmed) }

  private func body(_ name: String) -> [UInt8]? { fields.first { $0.isCalled(name) }?.value }

  private static func trimmed(_ text: String) -> String {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  private func addresses(_ name: String) -> String? {
    var texts: [String] = []
    for field in fields where field.isCalled(name) && texts.count < Self.mostAddresses {
      texts += Mailboxes(field.value, words, atMost: Self.mostAddresses - texts.count).texts
    }
    return texts.isEmpty ? nil : texts.joined(separator: ", ")
  }

  private var date: String? {
    guard let date = g_mime_message_get_date(message) else { return nil }
    // g_date_time_format reads files of the locale.
    return Self.digits(g_date_time_get_year(date), 4) + "-" + Self.digits(g_date_time_get_month(date)) + "-"
      + Self.digits(g_date_time_get_day_of_month(date)) + "T" + Self.digits(g_date_time_get_hour(date)) + ":"
      + Self.digits(g_date_time_get_minute(date)) + ":" + Self.digits(g_date_time_get_second(date))
      + zone(of: date)
  }

  /// The offset of the field `Date`, also with a colon, which GMime does not read; empty: the field has no known offset.
  private func zone(of date: OpaquePointer) -> String {
    let words = EncodedWords.unfolded(body("Date") ?? []).split(separator: 0x20)
    let zone = words.reversed().first { $0.first == UInt8(ascii: "+") || $0.first == UInt8(ascii: "-") }
    if let zone {
      let digits = zone.dropFirst().filter { $0 != UInt8(ascii: ":") }
      guard digits.count == 4, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return "" }
      let text = String(decoding: digits, as: UTF8.self)
      return String(Unicode.Scalar(zone.first ?? 0x2B)) + text.prefix(2) + ":" + text.suffix(2)
    }
    let offset = Int32(g_date_time_get_utc_offset(date) / 60_000_000)
    let name = words.last.map { String(decoding: $0, as: UTF8.self).uppercased() } ?? ""
    if offset == 0, !["GMT", "UT", "UTC", "Z"].contains(name) { return "" }
    return (offset < 0 ? "-" : "+") + Self.digits(abs(offset) / 60) + ":" + Self.digits(abs(offset) % 60)
  }

  private static func digits(_ number: Int32, _ count: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(count - digits.utf8.count, 0)) + digits
  }
}

/// A text from outside without control characters, cut at `limit` bytes between characters.
func plainText(_ text: String, limit: Int) -> String {
  var plain = String.UnicodeScalarView()
  var count = 0
  for scalar in text.unicodeScalars {
    if scalar.properties.generalCategory == .control { continue }
    count += UTF8.width(scalar)
    if count > limit { break }
    plain.append(scalar)
  }
  return String(plain)
}
