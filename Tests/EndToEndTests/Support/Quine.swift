/// A gzip file that unpacks to itself, without end.
///
/// It is Russ Cox's construction ("Zip Files All The Way Down", 2010): each instruction takes five bytes of the file. `L` copies
/// the bytes that follow it, `R` repeats what was unpacked last. The checksum at the end is not right; libarchive does not look at
/// that of gzip.
enum Quine {
  /// A stored block of so many bytes (RFC 1951, section 3.2.4), without them.
  private static func literal(_ count: Int) -> [UInt8] {
    let (low, high) = (UInt8(count & 255), UInt8(count >> 8))
    return [0, low, high, ~low, ~high]
  }

  /// A block with fixed codes that repeats the last bytes in two steps: what has to be repeated are 13 to 24 bytes.
  private static func repetition(_ count: Int, isLast: Bool = false) -> [UInt8] {
    var bits: [UInt8] = [isLast ? 1 : 0, 1, 0]
    func add(code: Int, _ width: Int) { bits += (0..<width).reversed().map { UInt8(code >> $0 & 1) } }
    for length in [(count + 1) / 2, count / 2] {
      add(code: length - 2, 7)  // 257 stands for 3 bytes
      // 13 to 16 are code 7 with two more bits, 17 to 24 codes 8 and 9 with three.
      let (code, first, extra) = count < 17 ? (7, 13, 2) : count < 21 ? (8, 17, 3) : (9, 25, 3)
      add(code: code, 5)
      bits += (0..<extra).map { UInt8((count - first) >> $0 & 1) }
    }
    add(code: 0, 7)
    var bytes = [UInt8](repeating: 0, count: 5)
    for (index, bit) in bits.enumerated() { bytes[index / 8] |= bit << UInt8(index % 8) }
    return bytes
  }

  static let gzip: [UInt8] = {
    // A header with a name, so that a repetition of it and of one instruction takes five bytes.
    let head: [UInt8] = [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3, UInt8(ascii: "r"), 0]
    let tail = [UInt8](repeating: 0, count: 8)
    let (one, four, fourAgain, none) = (literal(5), literal(20), repetition(20), literal(0))
    let (begin, beginAgain) = (literal(head.count + 5), repetition(head.count + 5))
    let (end, endAgain) = (literal(tail.count + 5), repetition(tail.count + 5, isLast: true))
    let start = head + begin + head + begin + beginAgain + one + beginAgain + one + one
    let middle = four + beginAgain + one + one + four + fourAgain + four + fourAgain + four + fourAgain + four
    return start + middle + fourAgain + four + fourAgain + none + none + end + fourAgain + none + none + end
      + endAgain + tail + endAgain + tail
  }()
}
