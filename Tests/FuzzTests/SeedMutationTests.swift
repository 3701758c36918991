import Foundation
import Glibc
import Testing

/// Each target for a second, with mutations of its seeds: a target that has fallen behind the product is noticed by each test run.
/// `make fuzz` searches, with coverage and for longer.
struct SeedMutationTests {
  private static let seeds = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Seeds")
  private static let seconds = 1.0

  @Test(arguments: FuzzTarget.all.map(\.name))
  func everyTargetKeepsWhatMustHold(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let files = try FileManager.default.contentsOfDirectory(
      at: Self.seeds.appendingPathComponent(name), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
    let seeds = try files.map { Array(try Data(contentsOf: $0)) }
    var mutation = Mutation(seeds)
    // A reader that traps ends the process. Its input is left here.
    let path = NSTemporaryDirectory() + "sluice-mutation-\(name)"
    let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    let end = Date().addingTimeInterval(Self.seconds)
    repeat {
      let input = mutation.next()
      _ = ftruncate(file, 0)
      _ = pwrite(file, input, input.count, 0)
      do {
        try target.run(input)
      } catch {
        Issue.record(
          "\(path), a mutation of a seed of \(name): \(error); move it to Tests/FuzzTests/Seeds/\(name)")
        return
      }
    } while Date() < end
    unlink(path)
  }
}

/// Inputs made of others: bytes changed, taken out, repeated, and pieces of two joined. The same sequence in each run.
private struct Mutation {
  private let seeds: [[UInt8]]
  private var state: UInt64 = 1
  private static let longest = 64 << 10

  init(_ seeds: [[UInt8]]) { self.seeds = seeds.isEmpty ? [[]] : seeds }

  /// SplitMix64 (Steele, Lea, Flood 2014).
  private mutating func random(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((value ^ (value >> 31)) % UInt64(max(limit, 1)))
  }

  mutating func next() -> [UInt8] {
    var bytes = Array(seeds[random(seeds.count)].prefix(Self.longest))
    for _ in 0...random(4) {
      let place = random(bytes.count)
      switch random(6) {
      case 0 where !bytes.isEmpty: bytes[place] = UInt8(random(256))
      case 1 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8(random(8))
      case 2: bytes.insert(UInt8(random(256)), at: place)
      case 3 where !bytes.isEmpty: bytes.removeSubrange(place..<min(place + 1 + random(16), bytes.count))
      case 4 where bytes.count < Self.longest:
        bytes.insert(contentsOf: bytes[place..<min(place + 1 + random(64), bytes.count)], at: place)
      default:
        let other = seeds[random(seeds.count)]
        bytes = Array(bytes.prefix(place)) + other.dropFirst(random(other.count)).prefix(Self.longest)
      }
    }
    return bytes
  }
}
