import Platform
import Testing

/// Distinct things by their hashes, in bounded memory.
struct DistinctSizesTests {
  @Test func whatWasAddedBeforeCountsOnce() {
    var sizes = DistinctSizes()
    for hash in [7, 9, 7, 0, .max, 0, 1 << 63] as [UInt64] { sizes.add(hash: hash, size: 10) }
    // 0 is counted as the largest number.
    #expect(sizes.count == 4 && sizes.size == 40 && sizes.isExact)
  }

  @Test func manyAreCountedExactly() {
    var sizes = DistinctSizes()
    var random = SplitMix(state: 3)
    let hashes = (0..<50_000).map { _ in random.next() }
    for hash in hashes + hashes.shuffled() { sizes.add(hash: hash, size: Int64(hash % 100)) }
    #expect(sizes.count == 50_000 && sizes.isExact)
    #expect(sizes.size == hashes.reduce(0) { $0 + Int64($1 % 100) })
  }

  @Test func moreThanTheLimitAreEstimated() {
    var sizes = DistinctSizes(limit: 10_000)
    var random = SplitMix(state: 4)
    let hashes = (0..<300_000).map { _ in random.next() }
    for hash in hashes + hashes { sizes.add(hash: hash, size: 10) }
    #expect(!sizes.isExact && sizes.size == sizes.count * 10)
    // At least 5,000 are kept: 5 percent is more than three standard deviations.
    #expect(abs(Double(sizes.count) / 300_000 - 1) < 0.05, "\(sizes.count)")
  }
}
