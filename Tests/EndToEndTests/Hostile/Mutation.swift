import Foundation
import Platform

/// A file with a few changes, always the same for the same seed and number: changes of bytes, or of the
/// format's elements.
struct Mutation: CustomStringConvertible {
  let data: Data
  /// The change and the file.
  let description: String

  /// - Parameter bases: files by name.
  init(_ bases: [(name: String, data: Data)], seed: UInt64, number: Int) {
    var random = SplitMix(state: seed &* 0x1_0000_0001 &+ UInt64(number) &* 0x9E37_79B9)
    let base = bases[Int.random(in: 0..<bases.count, using: &random)]
    var bytes = [UInt8](base.data)
    var story: [String] = []
    for _ in 0..<[1, 1, 1, 2, 3, 8].randomElement(using: &random).unsafelyUnwrapped {
      let kind = Kind.allCases.randomElement(using: &random).unsafelyUnwrapped
      if kind.apply(&bytes, bases, &random) { story.append(kind.rawValue) }
    }
    data = Data(bytes)
    description = "seed \(seed), number \(number): \(base.name), \(story.joined(separator: ", "))"
  }

  enum Kind: String, CaseIterable {
    // For any format.
    case bit, byte, cut, remove, double, random, swap, splice
    // For PDF.
    case number, reference, length, table, name, delimiter, keyword, filter, nest

    /// Applies the change; false if there was nothing to change.
    func apply(_ bytes: inout [UInt8], _ bases: [(name: String, data: Data)], _ random: inout SplitMix)
      -> Bool
    {
      if bytes.count < 2 { return false }
      switch self {
      case .bit:
        bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case .byte:
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      case .cut: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
      case .remove: bytes.removeSubrange(Self.range(bytes, &random))
      case .double:
        let range = Self.range(bytes, &random)
        bytes.insert(contentsOf: bytes[range], at: range.upperBound)
      case .random:
        let range = Self.range(bytes, &random)
        bytes.replaceSubrange(range, with: range.map { _ in UInt8.random(in: 0...255, using: &random) })
      case .swap:
        let (one, other) = (Self.range(bytes, &random), Self.range(bytes, &random))
        let (first, second) = one.lowerBound < other.lowerBound ? (one, other) : (other, one)
        guard first.upperBound <= second.lowerBound else { return false }
        let (head, tail) = (Array(bytes[first]), Array(bytes[second]))
        bytes.replaceSubrange(second, with: head)
        bytes.replaceSubrange(first, with: tail)
      case .splice:
        let other = [UInt8](bases[Int.random(in: 0..<bases.count, using: &random)].data)
        guard other.count > 1 else { return false }
        bytes.insert(
          contentsOf: other[Self.range(other, &random)], at: Int.random(in: bytes.indices, using: &random))
      case .number: return Self.replaceNumber(&bytes, &random) { _ in true }
      case .reference:
        // `12 0 R`
        return Self.replaceNumber(&bytes, &random, with: "\(Int.random(in: 0...40, using: &random))") {
          $0.starts(with: " 0 R".utf8)
        }
      case .length: return Self.replaceNumber(&bytes, &random, after: "/Length ")
      case .table:
        return Self.replaceNumber(
          &bytes, &random, after: Bool.random(using: &random) ? "startxref\n" : "\n0000")
      case .name:
        let names = Self.places(of: "/", in: bytes)
        guard let one = names.randomElement(using: &random), let other = names.randomElement(using: &random)
        else { return false }
        let name = Self.word(at: other + 1, bytes)
        bytes.replaceSubrange(one + 1..<one + 1 + Self.word(at: one + 1, bytes).count, with: name)
      case .delimiter:
        let all = ["<<", ">>", "[", "]", "(", ")", "<", ">", "{", "}", "%", "\n"]
        let old = all.randomElement(using: &random).unsafelyUnwrapped
        let new = Bool.random(using: &random) ? "" : all.randomElement(using: &random).unsafelyUnwrapped
        return Self.replace(old, with: Array(new.utf8), &bytes, &random)
      case .keyword:
        let all = [
          "obj", "endobj", "stream", "endstream", "xref", "trailer", "R", "null", "true", "startxref",
          "%%EOF",
        ]
        let old = all.randomElement(using: &random).unsafelyUnwrapped
        let new = all.randomElement(using: &random).unsafelyUnwrapped
        return Self.replace(old, with: Array(new.utf8), &bytes, &random)
      case .filter:
        let all = [
          "/FlateDecode", "/LZWDecode", "/DCTDecode", "/JPXDecode", "/JBIG2Decode", "/CCITTFaxDecode",
          "/RunLengthDecode", "/ASCII85Decode", "/ASCIIHexDecode", "/Crypt",
        ]
        let names = (0..<Int.random(in: 1...3, using: &random)).compactMap { _ in
          all.randomElement(using: &random)
        }
        return Self.replace("<<", with: Array("<< /Filter [\(names.joined())] ".utf8), &bytes, &random)
      case .nest:
        let old = ["<<", "[", "(", "<< /Kids [", "q ", "trailer"].randomElement(using: &random)
          .unsafelyUnwrapped
        let count = Int.random(in: 2...2000, using: &random)
        return Self.replace(old, with: Array(String(repeating: old, count: count).utf8), &bytes, &random)
      }
      return true
    }

    // MARK: Places

    private static func range(_ bytes: [UInt8], _ random: inout SplitMix) -> Range<Int> {
      let start = Int.random(in: bytes.indices, using: &random)
      let most = min([4, 32, 500, bytes.count].randomElement(using: &random) ?? 4, bytes.count - start)
      return start..<start + Int.random(in: 1...most, using: &random)
    }

    private static func places(of text: String, in bytes: [UInt8]) -> [Int] {
      let wanted = Array(text.utf8)
      guard let first = wanted.first, bytes.count >= wanted.count else { return [] }
      return bytes.withUnsafeBufferPointer { bytes in
        (0...bytes.count - wanted.count).filter {
          bytes[$0] == first && bytes[$0..<$0 + wanted.count].elementsEqual(wanted)
        }
      }
    }

    private static func word(at start: Int, _ bytes: [UInt8]) -> [UInt8] {
      Array(bytes[start...].prefix(40).prefix { $0 > 0x40 && $0 < 0x7B })
    }

    private static func replace(
      _ old: String, with new: [UInt8], _ bytes: inout [UInt8], _ random: inout SplitMix
    ) -> Bool {
      guard let place = places(of: old, in: bytes).randomElement(using: &random) else { return false }
      bytes.replaceSubrange(place..<place + old.utf8.count, with: new)
      return true
    }

    private static let numbers = [
      "0", "-1", "1", "2", "255", "65536", "1000000", "2147483647", "-2147483648", "4294967296", "9999999999",
      "9223372036854775807", "99999999999999999999999999", "0.0000001", "1e308", "-", ".",
    ]

    private static func replaceNumber(
      _ bytes: inout [UInt8], _ random: inout SplitMix, with text: String? = nil, after head: String = "",
      where isWanted: (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) -> Bool {
      func isDigit(_ place: Int) -> Bool { bytes.indices.contains(place) && 0x30...0x39 ~= bytes[place] }
      func end(_ place: Int) -> Int {
        var end = place
        while isDigit(end) { end += 1 }
        return end
      }
      let starts =
        head.isEmpty
        ? bytes.indices.filter { isDigit($0) && !isDigit($0 - 1) }
        : places(of: head, in: bytes).map { $0 + head.utf8.count }
      let wanted = starts.filter { isWanted(bytes[end($0)...].prefix(8)) }
      guard let place = wanted.randomElement(using: &random) else { return false }
      let new = text ?? numbers.randomElement(using: &random).unsafelyUnwrapped
      bytes.replaceSubrange(place..<end(place), with: Array(new.utf8))
      return true
    }
  }
}
