import LedgerPort

/// What commands do to deliveries.
package enum DeliveryDecision: Deciding {
  package struct Key: Hashable {
    package var key: Int64
    package var id: String

    package init(key: Int64, id: String) { (self.key, self.id) = (key, id) }
  }

  package struct Fact: Equatable {
    package var status: DeliveryStatus
    /// It is pending, and waits for later.
    package var isWaiting: Bool
    package var channel: String

    package init(_ status: DeliveryStatus, isWaiting: Bool = false, channel: String) {
      (self.status, self.isWaiting, self.channel) = (status, isWaiting, channel)
    }
  }

  package enum Write: Equatable {
    /// Queues one that has ended.
    case queue(key: Int64, channel: String)
    case hasten(key: Int64)
    case drop(key: Int64)
  }

  package static func needs(_ requests: [DeliveryCommand]) -> Set<Key> {
    Set(requests.map { Key(key: $0.key, id: $0.deliveryId) })
  }

  package static func decide(
    _ requests: [DeliveryCommand], _ facts: [Key: Fact]
  ) -> (results: [CommandResult], writes: [Write]) {
    var facts = facts
    var writes: [Write] = []
    let results = requests.map { request -> CommandResult in
      let key = Key(key: request.key, id: request.deliveryId)
      guard let fact = facts[key] else { return .refused("no delivery has the id \(request.deliveryId)") }
      switch (request.action, fact.status) {
      case (.retry, .pending) where fact.isWaiting: writes.append(.hasten(key: request.key))
      case (.retry, .pending), (.drop, .dropped): return .done(hasChanged: false)
      case (.retry, .dead), (.retry, .dropped):
        writes.append(.queue(key: request.key, channel: fact.channel))
      case (.retry, .delivered): return .refused("delivery \(request.deliveryId) was delivered")
      case (.drop, .delivered):
        return .refused("delivery \(request.deliveryId) was delivered: there is nothing to give up")
      case (.drop, .pending), (.drop, .dead): writes.append(.drop(key: request.key))
      }
      facts[key] = Fact(request.action == .drop ? .dropped : .pending, channel: fact.channel)
      return .done(hasChanged: true)
    }
    return (results, writes)
  }
}
