import CPoppler
import CPopplerData
import Glibc
import StageKit

/// Poppler's state per process, created before the sandbox closes.
///
/// Poppler builds global tables when the first document opens and frees them with the last one, so a tiny
/// document stays open here. glibc opens a file for the time zone and for each character set conversion on
/// first use, and unloads a conversion that is no longer open (tzset(3), iconv_open(3)). So each is used here
/// once, and the conversions stay open.
package final class Poppler {
  private let anchor: Document
  private let conversions: [Conversion]

  package init() throws(Outcome) {
    // poppler-glib passes poppler's errors on to GLib's log, and 9 kB of PDF can make 29 MB of them.
    g_log_set_default_handler(ignore, nil)
    sluice_poppler_without_data()
    setenv("TZ", "UTC0", 0)
    tzset()
    // Text in a PDF may be UTF-16 of either order; poppler-glib turns a password into Latin-1.
    conversions = [
      try Conversion(from: "UTF-16BE", to: "UTF-8"), try Conversion(from: "UTF-16LE", to: "UTF-8"),
      try Conversion(from: "UTF-8", to: "ISO-8859-1"),
    ]
    do throws(Document.Refusal) {
      anchor = try Document(TinyPDF.bytes)
    } catch {
      throw .fail("poppler-unavailable", "poppler \(Self.version) does not open a document that is valid")
    }
    guard anchor.page(0) != nil, anchor.text(.title) == TinyPDF.title,
      anchor.date(.created) == TinyPDF.created,
      !anchor.hasJavaScript
    else {
      throw .fail("poppler-unavailable", "poppler \(Self.version) misreads a document that is valid")
    }
  }

  /// Of the library, such as `22.12.0`.
  public static var version: String { String(cString: poppler_get_version()) }
}

/// GLib would print by default.
private func ignore(
  _ domain: UnsafePointer<CChar>?, _ level: GLogLevelFlags, _ message: UnsafePointer<CChar>?,
  _ data: gpointer?
) {}

/// An open conversion between character sets, which keeps its tables loaded.
private final class Conversion {
  private let descriptor: iconv_t

  init(from source: String, to target: String) throws(Outcome) {
    guard let descriptor = iconv_open(target, source), descriptor != iconv_t(bitPattern: -1) else {
      throw .fail("poppler-unavailable", "the C library does not convert \(source) to \(target)")
    }
    self.descriptor = descriptor
  }

  deinit {
    iconv_close(descriptor)
  }
}
