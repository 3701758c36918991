import LedgerPort

/// Deliveries that are leased in the transaction that adds them. This spares a second change of the row and a
/// second sync. Done only in lanes without due jobs, by exchanges that add in order, so that no delivery overtakes another.
struct Newborn {
  /// The lanes are few: to hash their names would cost more than to compare them.
  private var lanes: [(name: LaneName, room: Int, leases: [Lease])]

  /// - Parameter free: how many leases are wanted, of lanes without due jobs.
  init(_ free: [Want]) {
    lanes = free.map { ($0.lane, $0.count, []) }
  }

  /// Whether a delivery of this lane is to be leased. Then one less is.
  mutating func takes(_ lane: LaneName) -> Bool {
    guard let index = lanes.firstIndex(where: { $0.name == lane }), lanes[index].room > 0 else {
      return false
    }
    lanes[index].room -= 1
    return true
  }

  mutating func add(_ lease: Lease, _ lane: LaneName) {
    guard let index = lanes.firstIndex(where: { $0.name == lane }) else { return }
    lanes[index].leases.append(lease)
  }

  /// The leases of a lane, in the order of a claim.
  func leases(of lane: LaneName) -> [Lease] {
    (lanes.first { $0.name == lane }?.leases ?? []).sorted { ($1.priority, $0.job) < ($0.priority, $1.job) }
  }
}

extension Exchange {
  /// Whether the deliveries that it adds are claimed in the order in which they are added, and after nothing that it gives back.
  var addsInOrder: Bool {
    var priorities: Set<Int64> = []
    for settlement in settlements {
      switch settlement.ending {
      case .released: return false
      case .deliveryAgain(_, let after, _): if after <= 0 { return false }
      case .attachment(let ended): if !ended.events.isEmpty { priorities.insert(ended.priority) }
      case .expanded, .again, .putOff, .delivered, .deadLetter, .fetched, .transferAgain, .transferRestarts,
        .notFetched,
        .fetchAgain:
        break
      }
    }
    return priorities.count <= 1
  }
}
