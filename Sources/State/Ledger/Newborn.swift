/// Deliveries that are leased in the transaction that adds them: a claim of their own would be a change of the same row and
/// a sync more. Only in lanes where nobody waits, so that none overtakes another.
struct Newborn {
  /// How many more are wanted, by lane.
  private var room: [String: Int]
  private var leases: [String: [Lease]] = [:]
  /// Of all of them, once there is one.
  private var token: Int64?

  init(_ free: [(lane: String, count: Int)]) {
    room = Dictionary(free, uniquingKeysWith: { $1 })
  }

  /// The token for a delivery of this lane, where one is wanted.
  mutating func token(_ lane: String, next: () throws -> Int64) rethrows -> Int64? {
    guard let left = room[lane], left > 0 else { return nil }
    room[lane] = left - 1
    if let token { return token }
    token = try next()
    return token
  }

  mutating func add(_ lease: Lease, _ lane: String) {
    leases[lane, default: []].append(lease)
  }

  /// What was leased, in the order of a claim.
  func leases(of lane: String) -> [Lease] {
    (leases[lane] ?? []).sorted { ($1.priority, $0.job) < ($0.priority, $1.job) }
  }
}
