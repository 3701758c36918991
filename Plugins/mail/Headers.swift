import CGMime
import StageKit

/// The headers of a mail as metadata.
struct Headers {
  private let message: UnsafeMutablePointer<GMimeMessage>

  /// Bytes of one value.
  static let longest = 2000
  /// Addresses of one header: to write out a million of them would take seconds.
  private static let mostAddresses: Int32 = 50

  init(_ parsed: Parsed) {
    message = parsed.message
  }

  func annotate(_ attachment: Attachment) {
    let values = [
      ("mail.subject", text(g_mime_message_get_subject(message))),
      ("mail.from", addresses(g_mime_message_get_from(message))),
      ("mail.to", addresses(g_mime_message_get_to(message))),
      ("mail.cc", addresses(g_mime_message_get_cc(message))),
      ("mail.date", date), ("mail.message-id", text(g_mime_message_get_message_id(message))),
    ]
    for (key, value) in values {
      if let value = value.map({ plainText($0, limit: Self.longest) }), !value.isEmpty {
        attachment.annotate(key, value)
      }
    }
  }

  private func addresses(_ list: UnsafeMutablePointer<InternetAddressList>?) -> String? {
    guard let list else { return nil }
    var texts: [String] = []
    for index in 0..<min(internet_address_list_length(list), Self.mostAddresses) {
      let address = internet_address_list_get_address(list, index)
      // A group may have a million members.
      if sluice_is_group(address) != 0 {
        texts.append("\(text(internet_address_get_name(address)) ?? ""):;")
      } else {
        if let one = taken(internet_address_to_string(address, nil, 0)) { texts.append(one) }
      }
    }
    return texts.isEmpty ? nil : texts.joined(separator: ", ")
  }

  private var date: String? {
    guard let date = g_mime_message_get_date(message) else { return nil }
    // g_date_time_format reads files of the locale.
    let offset = Int32(g_date_time_get_utc_offset(date) / 60_000_000)
    return Self.digits(g_date_time_get_year(date), 4) + "-" + Self.digits(g_date_time_get_month(date)) + "-"
      + Self.digits(g_date_time_get_day_of_month(date)) + "T" + Self.digits(g_date_time_get_hour(date)) + ":"
      + Self.digits(g_date_time_get_minute(date)) + ":" + Self.digits(g_date_time_get_second(date))
      + (offset < 0 ? "-" : "+") + Self.digits(abs(offset) / 60) + ":" + Self.digits(abs(offset) % 60)
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
