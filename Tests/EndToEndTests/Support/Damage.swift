import Foundation
import Platform

/// Kinds of damage to a file's bytes on disk.
enum Damage: String, CaseIterable {
  case flippedBits = "flipped bits"
  case truncated
  case zeroedPage = "a zeroed page"
  case garbage
  case replaced = "all garbage"
  case emptied

  /// The damaged file, which differs from the original unless that is empty.
  func applied(to file: Data, _ random: inout SplitMix) -> Data {
    var damaged = file
    if file.isEmpty { return Data((0..<100).map { _ in UInt8.random(in: 0...255, using: &random) }) }
    switch self {
    case .flippedBits:
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        damaged[Int.random(in: 0..<file.count, using: &random)] ^=
          1 << UInt8.random(in: 0...7, using: &random)
      }
    case .truncated: damaged = file.prefix(Int.random(in: 0..<file.count, using: &random))
    case .zeroedPage:
      let start = Int.random(in: 0...(file.count - 1) / 4096, using: &random) * 4096
      let end = min(start + 4096, file.count)
      damaged.replaceSubrange(start..<end, with: Data(count: end - start))
    case .garbage:
      let start = Int.random(in: 0..<file.count, using: &random)
      let end = min(start + Int.random(in: 1...4096, using: &random), file.count)
      damaged.replaceSubrange(start..<end, with: Self.noise(end - start, &random))
    case .replaced: damaged = Self.noise(min(file.count, 1 << 16), &random)
    case .emptied: damaged = Data()
    }
    return damaged
  }

  private static func noise(_ count: Int, _ random: inout SplitMix) -> Data {
    Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
  }
}
