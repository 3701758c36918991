import Glibc
import StageKit

/// What libarchive reads of the system, loaded before the sandbox closes.
final class Surroundings {
  private let locale: locale_t

  init() throws(Outcome) {
    // Dates of ZIP and RAR go through mktime(3), which looks at /etc/localtime each time unless TZ is set (tzset(3)). Dates are not
    // used, so any zone will do.
    setenv("TZ", "UTC0", 0)
    tzset()
    // libarchive gives names in the encoding of the locale. In the "C" locale it would lose all that is not ASCII.
    guard let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) else {
      throw .fail(
        "archive-unavailable", "the locale C.UTF-8 does not load: \(String(cString: strerror(errno)))")
    }
    self.locale = locale
    // Names in UTF-16 and wide characters are converted by iconv(3), whose first use reads the list of converters.
    use {
      for encoding in ["UTF-16LE", "UTF-16BE", "UTF-8", "WCHAR_T"] {
        if let converter = iconv_open("UTF-8", encoding), Int(bitPattern: converter) != -1 {
          iconv_close(converter)
        }
      }
      var wide: [wchar_t] = [0, 0]
      mbstowcs(&wide, "ä", 1)
    }
  }

  deinit {
    freelocale(locale)
  }

  /// Does something in that locale. Other stages of the worker do not see it.
  func use<Result, Failure: Error>(_ work: () throws(Failure) -> Result) throws(Failure) -> Result {
    let before = uselocale(locale)
    defer { uselocale(before) }
    return try work()
  }
}

/// Memory that is used again for each content.
final class Buffers {
  let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
  let zip = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
  let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)

  deinit {
    input.deallocate()
    zip.deallocate()
    output.deallocate()
  }
}
