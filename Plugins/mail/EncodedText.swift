import CGMime
import Glibc

/// Encoded text that programs decode in different ways, so that one shows what another hides.
enum EncodedText {
  /// What is wrong with the text of a part; `nil`: all decode it in the same way.
  static func fault(of text: UnsafeRawBufferPointer, _ encoding: GMimeContentEncoding) -> String? {
    switch encoding {
    case GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE:
      hasSpacedBreak(text)
        ? "a line of quoted-printable in it has white space behind its last ="
        : hasBrokenEscape(text) ? "quoted-printable in it has an = too close to another" : nil
    case GMIME_CONTENT_ENCODING_UUENCODE:
      hasEarlyEnd(text) ? "uuencode in it goes on behind its end" : nil
    default: nil
    }
  }

  /// A break that is none of the text (RFC 2045, section 6.7, rule 5), with white space before the end of its line, which rule 3
  /// has taken away first.
  private static func hasSpacedBreak(_ text: UnsafeRawBufferPointer) -> Bool {
    Lines(text).contains { line in
      let trimmed = Boundary.trimmed(line)
      guard trimmed.last == 0x3D, trimmed.count < line.count else { return false }
      return !line.dropFirst(trimmed.count).elementsEqual([0x0D])
    }
  }

  /// An `=` without its two digits, and another in their place: some programs begin again with that, and others pass over it.
  private static func hasBrokenEscape(_ text: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while let base = text.baseAddress, index + 1 < text.count,
      let found = memchr(base + index, 0x3D, text.count - index - 1)
    {
      index = base.distance(to: UnsafeRawPointer(found)) + 1
      if text[index] == 0x3D { return true }
      // A break ends the line.
      if index + 1 < text.count, text[index + 1] == 0x3D, text[index] != 0x0A { return true }
    }
    return false
  }

  /// A line without bytes ends the data (uuencode(5)), and only `end` follows: some programs look for that alone.
  private static func hasEarlyEnd(_ text: UnsafeRawBufferPointer) -> Bool {
    var hasBegun = false
    var hasEnded = false
    for line in Lines(text) {
      let line = Boundary.trimmed(line)
      if line.starts(with: "begin ".utf8) {
        if hasBegun { return true }
        hasBegun = true
      } else if hasBegun {
        // Behind `end` may stand what the sender likes.
        if line.elementsEqual("end".utf8) { return false }
        if hasEnded && !line.isEmpty { return true }
        // A backquote stands for a space, which may have been trimmed.
        if line.isEmpty || line.first == 0x60 { hasEnded = true }
      }
    }
    return false
  }
}
