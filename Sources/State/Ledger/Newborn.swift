/// Deliveries that are leased in the transaction that adds them. This spares a second change of the row and a
/// second sync. Done only in lanes without due jobs, so that no delivery overtakes another.
struct Newborn {
  /// How many more leases are wanted, by lane.
  private var room: [String: Int]
  private var leases: [String: [Lease]] = [:]
  /// The token that all these leases share; `nil` until the first.
  private var token: Int64?

  init(_ free: [(lane: String, count: Int)]) {
    room = Dictionary(free, uniquingKeysWith: { $1 })
  }

  /// The token for a delivery of this lane; `nil`: no more leases are wanted.
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

  /// The leases of a lane, in the order of a claim.
  func leases(of lane: String) -> [Lease] {
    (leases[lane] ?? []).sorted { ($1.priority, $0.job) < ($0.priority, $1.job) }
  }
}
