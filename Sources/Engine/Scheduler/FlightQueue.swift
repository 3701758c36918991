/// A queue of flights: those of one turn in order, and of the turns one flight each, so that a content of which much is taken out
/// holds up no other for long.
final class FlightQueue {
  /// Those that go before all others, the last that came first.
  private var front: [Flight] = []
  /// The others, by their turn.
  private var lines: [UInt64: Line<Flight>] = [:]
  /// The turns of which some wait; the next is the first.
  private var turns = Line<UInt64>()
  private(set) var count = 0

  var isEmpty: Bool { front.isEmpty && turns.isEmpty }

  /// The next that is not of certain owners.
  func first(except owners: Set<UInt64> = []) -> Flight? {
    if owners.isEmpty { return front.last ?? turns.first.flatMap { lines[$0]?.first } }
    return front.last { !owners.contains($0.owner) }
      ?? turns.elements.lazy.compactMap { self.lines[$0]?.first }.first { !owners.contains($0.owner) }
  }

  func append(_ flight: Flight) {
    count += 1
    if lines[flight.turn]?.isEmpty != false { turns.append(flight.turn) }
    lines[flight.turn, default: Line()].append(flight)
  }

  func prepend(_ flight: Flight) {
    count += 1
    front.append(flight)
  }

  /// Takes out what answers to a description. The others keep their order.
  func remove(where condition: (Flight) -> Bool) -> [Flight] {
    let all = front.reversed() + turns.elements.flatMap { lines[$0]?.elements ?? [] }
    front.removeAll(where: condition)
    for turn in lines.keys { lines[turn]?.removeAll(where: condition) }
    turns.removeAll { lines[$0]?.isEmpty != false }
    let removed = all.filter(condition)
    count -= removed.count
    return removed
  }

  /// Moves the first that answers to a description to the front.
  func moveFirst(where condition: (Flight) -> Bool) {
    if let place = front.lastIndex(where: condition) { return front.append(front.remove(at: place)) }
    for turn in turns.elements {
      guard let flight = lines[turn]?.elements.first(where: condition) else { continue }
      _ = remove { $0 === flight }
      return prepend(flight)
    }
  }

  func first(where condition: (Flight) -> Bool) -> Flight? {
    if let flight = front.last(where: condition) { return flight }
    for turn in turns.elements {
      if let flight = lines[turn]?.elements.first(where: condition) { return flight }
    }
    return nil
  }

  /// Takes the next that is not of certain owners.
  func popFirst(except owners: Set<UInt64> = []) -> Flight? {
    guard let flight = first(except: owners) else { return nil }
    count -= 1
    if let place = front.lastIndex(where: { $0 === flight }) { return front.remove(at: place) }
    if turns.first == flight.turn { _ = turns.popFirst() } else { turns.removeAll { $0 == flight.turn } }
    _ = lines[flight.turn]?.popFirst()
    if lines[flight.turn]?.isEmpty == false {
      turns.append(flight.turn)
    } else if flight.turn != Flight.usualTurn {
      lines[flight.turn] = nil
    }
    return flight
  }
}

/// First in, first out. Taking from an array's front would move all the rest each time.
private struct Line<Element> {
  private var front: [Element] = []  // reversed
  private var back: [Element] = []

  var isEmpty: Bool { front.isEmpty && back.isEmpty }
  var first: Element? { front.last ?? back.first }
  var elements: [Element] { front.reversed() + back }

  mutating func append(_ element: Element) { back.append(element) }

  mutating func removeAll(where condition: (Element) -> Bool) {
    front.removeAll(where: condition)
    back.removeAll(where: condition)
  }

  mutating func popFirst() -> Element? {
    if front.isEmpty {
      front = back.reversed()
      back.removeAll(keepingCapacity: true)
    }
    return front.popLast()
  }
}
