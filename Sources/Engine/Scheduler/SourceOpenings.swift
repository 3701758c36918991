import Platform

/// Sources that are being opened, one after the other.
struct SourceOpenings {
  private var next: [Source] = []
  /// Those that were asked for, in their order. The first is being opened.
  private var underway: [Source] = []
  /// Whose answer is still wanted.
  private var wanted: Set<UInt64> = []
  /// When the opening of the first began, in nanoseconds of the monotonic clock; `nil`: it was told as slow.
  private var since: UInt64? = 0

  /// Nanoseconds after which a user is to know what is waited for.
  private static let slowAfter: UInt64 = 10_000_000_000

  mutating func add(_ source: Source) {
    next.append(source)
    wanted.insert(source.serial)
  }

  /// Those that are to be opened now.
  mutating func nextBatch(at now: UInt64) -> [Source] {
    defer { next.removeAll(keepingCapacity: true) }
    if underway.isEmpty { since = now }
    underway += next
    return next
  }

  /// Takes note of an answer. Returns whether it is still wanted.
  mutating func answered(_ serial: UInt64, at now: UInt64) -> Bool {
    if let index = underway.firstIndex(where: { $0.serial == serial }) { underway.remove(at: index) }
    since = now
    return wanted.remove(serial) != nil
  }

  /// The source whose opening has taken long; once for each.
  mutating func slow(at now: UInt64) -> Source? {
    guard let first = underway.first, let since, now >= since + Self.slowAfter else { return nil }
    self.since = nil
    return first
  }

  /// Files are still to be deleted.
  var isRemoving: Bool { next.contains(where: \.isRemoval) || underway.contains(where: \.isRemoval) }

  /// The answer is not wanted any more.
  mutating func drop(_ serial: UInt64) {
    next.removeAll { $0.serial == serial }
    wanted.remove(serial)
  }

  /// No answer is wanted any more. Returns whose they would have been.
  mutating func dropAll() -> [UInt64] {
    defer { wanted.removeAll() }
    next.removeAll()
    return wanted.sorted()
  }
}
