import Glibc

/// Replaces revision 6 of the standard security handler by revision 5, in a copy, to try a wrong password quickly.
///
/// The two differ in one thing: revision 6 has a slow hash of the password (ISO 32000-2, 7.6.4.3.4), for which poppler
/// takes milliseconds. A random password is wrong under both. So both ask for a password or neither does, provided that
/// the digit that is replaced is nothing but a revision.
///
/// The digit stands behind `/R` and a space, and before a delimiter that begins the next name or ends a dictionary.
/// Until poppler asks for a password, it reads the header, cross-references, trailers and the encryption dictionary.
/// In these, the digit is the value of a key `R`, which only the encryption dictionary gives a meaning, or it is part
/// of a string or comment, in which it makes no difference either: a string that makes the key is a part of what a
/// random password does not fit. It is no part of a number of more digits, of a reference, and of the line `6 0 obj`
/// that a repair looks for. The one place where any byte matters is a cross-reference stream or what such a stream
/// leads to, an object stream. So nothing is replaced after the word `stream`, unless the file has no
/// cross-reference streams.
enum Revision {
  /// Calls `body` with the content, or with a copy in which each revision 6 is 5.
  static func withEarlier<Result>(
    _ bytes: UnsafeRawBufferPointer, _ names: Names, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let digits = places(in: bytes, names)
    // Without memory for a copy, the slow way still works.
    guard !digits.isEmpty, let room = malloc(bytes.count) else { return body(bytes) }
    defer { free(room) }
    let copy = UnsafeMutableRawBufferPointer(start: room, count: bytes.count)
    copy.copyMemory(from: bytes)
    for digit in digits { copy[digit] = UInt8(ascii: "5") }
    return body(UnsafeRawBufferPointer(copy))
  }

  /// The offsets of the digits that may be replaced.
  static func places(in bytes: UnsafeRawBufferPointer, _ names: Names) -> [Int] {
    var digits: [Int] = []
    let end =
      names.mayHaveReferenceStreams ? offset(of: "stream", in: bytes[...]) ?? bytes.count : bytes.count
    var rest = bytes[..<end]
    while let key = offset(of: "/R 6", in: rest) {
      rest = rest[(key + 4)...]
      let next = rest.drop(while: isSpace).first
      if next == UInt8(ascii: "/") || next == UInt8(ascii: ">") { digits.append(key + 3) }
    }
    return digits
  }

  private static func offset(of word: StaticString, in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard let start = bytes.base.baseAddress, let first = word.first else { return nil }
    var next = bytes.startIndex
    while let found = memchr(start + next, Int32(first), bytes.endIndex - next) {
      next = UnsafeRawPointer(found) - start
      if bytes[next...].starts(with: word) { return next }
      next += 1
    }
    return nil
  }
}
