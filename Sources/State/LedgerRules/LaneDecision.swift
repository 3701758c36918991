import LedgerPort

/// What commands do to lanes.
package enum LaneDecision: Deciding {
  /// The pauses of a lane on record, one for each cause at most.
  package typealias Fact = [Pause]

  package enum Write: Equatable {
    case pause(LaneName, Pause)
    case lift(LaneName, Pause.Cause)
    case hasten(LaneName)
  }

  package static func needs(_ requests: [LaneCommand]) -> Set<LaneName> { Set(requests.map(\.lane)) }

  package static func decide(
    _ requests: [LaneCommand], _ facts: [LaneName: [Pause]]
  ) -> (results: [CommandResult], writes: [Write]) {
    var pauses = facts
    var writes: [Write] = []
    let results = requests.map { request -> CommandResult in
      guard let now = pauses[request.lane] else {
        return .refused(
          "there is no lane '\(request.lane)'; lanes are attachments, downloads, and channel:NAME of each channel that was used"
        )
      }
      switch request.action {
      case .pause(let pause):
        if let earlier = now.first(where: { $0.cause == pause.cause }) {
          // The first fault stays: what came after may follow from it. A person may give another reason.
          if pause.cause != .person || [earlier.reason, Pause.unexplained].contains(pause.reason) {
            return .done(hasChanged: false)
          }
        }
        pauses[request.lane] = now.filter { $0.cause != pause.cause } + [pause]
        writes.append(.pause(request.lane, pause))
      case .resume(let cause):
        let lifted = now.filter { cause == nil || $0.cause == cause }
        if lifted.isEmpty { return .done(hasChanged: false) }
        pauses[request.lane] = now.filter { !lifted.contains($0) }
        writes += lifted.map { .lift(request.lane, $0.cause) }
      case .hasten: writes.append(.hasten(request.lane))
      }
      return .done(hasChanged: true)
    }
    return (results, writes)
  }
}
