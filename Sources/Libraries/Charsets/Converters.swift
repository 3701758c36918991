import Glibc

/// Converters to UTF-8.
///
/// glibc loads one from a file when it is first wanted, which the sandbox would not allow. So they are loaded before, and stay: some
/// 0.2 ms and 50 KB each. Used by one thread.
public final class Converters {
  private var loaded: [String: iconv_t] = [:]

  /// - Parameter charsets: those that will be wanted.
  public init(_ charsets: [Charset] = Charset.all) {
    for charset in charsets {
      guard loaded[charset.converter] == nil, let converter = iconv_open("UTF-8", charset.converter),
        Int(bitPattern: converter) != -1
      else { continue }
      loaded[charset.converter] = converter
    }
  }

  deinit {
    for converter in loaded.values { iconv_close(converter) }
  }

  /// A text as UTF-8, with U+FFFD for what is wrong in it; and how often something is. `nil`: there is no converter.
  public func utf8(_ bytes: UnsafeRawBufferPointer, _ charset: Charset) -> (text: [UInt8], faults: Int)? {
    switch charset {
    case .utf8: return Self.repaired(bytes)
    case .utf16LittleEndian, .utf16BigEndian:
      return Self.repaired(bytes, isBigEndian: charset == .utf16BigEndian)
    default: break
    }
    guard charset.name != Charset.shiftedJapanese else {
      let unshifted = ShiftedJapanese.unshifted(bytes)
      return unshifted.withUnsafeBytes { convert($0, charset) }
    }
    return convert(bytes, charset)
  }

  private static func repaired(_ bytes: UnsafeRawBufferPointer) -> (text: [UInt8], faults: Int) {
    if String(validating: bytes, as: UTF8.self) != nil { return (Array(bytes), 0) }
    var text: [UInt8] = []
    var faults = 0
    var rest = bytes.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    while true {
      switch parser.parseScalar(from: &rest) {
      case .valid(let units): text.append(contentsOf: units)
      case .error:
        text.append(contentsOf: UTF8.encodedReplacementCharacter)
        faults += 1
      case .emptyInput: return (text, faults)
      }
    }
  }

  /// Half of a unit at the end is left out.
  private static func repaired(
    _ bytes: UnsafeRawBufferPointer, isBigEndian: Bool
  ) -> (text: [UInt8], faults: Int) {
    let units = (0..<bytes.count / 2).map { index in
      let unit = bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)
      return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
    }
    var text: [UInt8] = []
    var faults = 0
    var rest = units.makeIterator()
    var parser = Unicode.UTF16.ForwardParser()
    while true {
      switch parser.parseScalar(from: &rest) {
      case .valid(let pair):
        text.append(contentsOf: UTF8.encode(Unicode.UTF16.decode(pair)) ?? UTF8.encodedReplacementCharacter)
      case .error:
        text.append(contentsOf: UTF8.encodedReplacementCharacter)
        faults += 1
      case .emptyInput: return (text, faults)
      }
    }
  }

  private func convert(
    _ bytes: UnsafeRawBufferPointer, _ charset: Charset
  ) -> (text: [UInt8], faults: Int)? {
    guard let converter = loaded[charset.converter] else { return nil }
    // Back to the state in which a text begins.
    iconv(converter, nil, nil, nil, nil)
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count + bytes.count / 2)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
    defer { room.deallocate() }
    var source = UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
    var left = bytes.count
    var faults = 0
    while true {
      var target = room.baseAddress?.assumingMemoryBound(to: CChar.self)
      var free = room.count
      let before = left
      // At the end, what a converter has kept: a letter that might have been composed.
      let result =
        left == 0
        ? iconv(converter, nil, nil, &target, &free) : iconv(converter, &source, &left, &target, &free)
      let failure = errno
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<(room.count - free)]))
      if before == 0 { return (output, faults) }
      if result != -1 || left == 0 || failure == E2BIG && (free < room.count || left < before) { continue }
      // Not a character, or half of one at the end.
      output.append(contentsOf: UTF8.encodedReplacementCharacter)
      faults += 1
      source = source.map { $0 + 1 }
      left -= 1
    }
  }
}

/// ISO-2022-JP as EUC-JP, whose converter knows the characters of vendors that programs write in it.
enum ShiftedJapanese {
  private enum Set { case ascii, kanji, kana }

  static func unshifted(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var set = Set.ascii
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x1B, let (next, length) = escape(bytes[index...]) {
        (set, index) = (next, index + length)
      } else if byte == 0x0A || byte == 0x0D {
        // A line begins in ASCII, also where the last did not end so.
        set = .ascii
        output.append(byte)
        index += 1
      } else if byte < 0x21 || byte > 0x7E || set == .ascii {
        output.append(byte)
        index += 1
      } else if set == .kana {
        output += [0x8E, byte | 0x80]
        index += 1
      } else {
        output += bytes[index..<min(index + 2, bytes.count)].map { $0 | 0x80 }
        index += 2
      }
    }
    return output
  }

  /// The set of characters that a sequence switches to (RFC 1468), and its length.
  private static func escape(_ bytes: Slice<UnsafeRawBufferPointer>) -> (Set, Int)? {
    let next = bytes.dropFirst().prefix(2)
    if next.elementsEqual("(B".utf8) || next.elementsEqual("(J".utf8) { return (.ascii, 3) }
    if next.elementsEqual("(I".utf8) { return (.kana, 3) }
    if next.elementsEqual("$@".utf8) || next.elementsEqual("$B".utf8) { return (.kanji, 3) }
    return nil
  }
}
