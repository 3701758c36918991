import CPoppler
import Glibc

/// A document's information dictionary (PDF 32000-1:2008, 14.3.3).
extension Document {
  package enum Entry: String, CaseIterable {
    case title, author, subject, keywords, creator, producer
  }

  package enum Moment: String, CaseIterable {
    case created, modified
  }

  /// An entry as plain text; `nil` where there is none.
  package func text(_ entry: Entry) -> String? {
    let text =
      switch entry {
      case .title: poppler_document_get_title(document)
      case .author: poppler_document_get_author(document)
      case .subject: poppler_document_get_subject(document)
      case .keywords: poppler_document_get_keywords(document)
      case .creator: poppler_document_get_creator(document)
      case .producer: poppler_document_get_producer(document)
      }
    defer { g_free(text) }
    return plainText(text)
  }

  /// A date in UTC as RFC 3339 writes it; `nil` where there is none, or none that has four digits for its
  /// year.
  ///
  /// As seconds, since for a time zone such as `+99'99'` poppler-glib's GDateTime has GLib look for a file.
  package func date(_ moment: Moment) -> String? {
    var seconds =
      switch moment {
      case .created: poppler_document_get_creation_date(document)
      case .modified: poppler_document_get_modification_date(document)
      }
    var parts = tm()
    guard seconds != -1, gmtime_r(&seconds, &parts) != nil, -1900...8099 ~= parts.tm_year else {
      return nil
    }
    func padded(_ number: Int32, _ width: Int = 2) -> String {
      let digits = String(number)
      return String(repeating: "0", count: width - digits.utf8.count) + digits
    }
    let day = "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
    return "\(day)T\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))Z"
  }
}

/// A text from a PDF, made safe: UTF-8 without control characters, cut at 4,000 bytes between characters.
/// `nil` if nothing is left.
func plainText(_ text: UnsafePointer<CChar>?) -> String? {
  guard let text else { return nil }
  let limit = 4_000
  // Enough to cut from; bounds the work.
  let bytes = UnsafeRawBufferPointer(start: text, count: strnlen(text, limit * 4))
  if bytes.allSatisfy({ 0x20...0x7E ~= $0 }) {
    return bytes.isEmpty ? nil : String(decoding: bytes.prefix(limit), as: UTF8.self)
  }
  var plain = String.UnicodeScalarView()
  var count = 0
  for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
    let isSpace = "\t\n\r".unicodeScalars.contains(scalar)
    if !isSpace, scalar.properties.generalCategory == .control { continue }
    count += UTF8.width(scalar)
    if count > limit { break }
    plain.append(isSpace ? " " : scalar)
  }
  return plain.isEmpty ? nil : String(plain)
}
