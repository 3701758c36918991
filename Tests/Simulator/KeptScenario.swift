/// A scenario as a line of text: its seed, and which of its parts are left. Failures are shrunk to such lines, and kept.
///
///     seed 17 of 60: items 3 5, lives 0 2, weather 1, deeds 4, trees
///
/// A line without deeds has none, and one without trees is of a scenario whose stages leave nothing beside contents.
struct KeptScenario: CustomStringConvertible {
  var seed: UInt64
  /// How many items the whole scenario has.
  var count: Int
  var items: Set<Int>
  var lives: Set<Int>
  var weather: Set<Int>
  var deeds: Set<Int>
  var hasTrees: Bool

  init(_ scenario: Scenario, of count: Int) {
    (seed, self.count) = (scenario.seed, count)
    items = Set(scenario.items.map(\.number))
    lives = Set(scenario.lives.map(\.number))
    weather = Set(scenario.weather.map(\.number))
    deeds = Set(scenario.deeds.map(\.number))
    hasTrees = scenario.hasTrees
  }

  /// Reads such a line; `nil`: it is none.
  init?(_ line: String) {
    let halves = line.split(separator: ":")
    guard halves.count == 2 else { return nil }
    let head = halves[0].split(separator: " ").compactMap { Int($0) }
    var parts = halves[1].split(separator: ",").map { $0.split(separator: " ") }
    hasTrees = parts.last == ["trees"]
    if hasTrees { parts.removeLast() }
    let names: [Substring?] = ["items", "lives", "weather", "deeds"]
    guard head.count == 2, head[0] >= 0, [3, 4].contains(parts.count),
      parts.map(\.first) == Array(names.prefix(parts.count))
    else { return nil }
    (seed, count) = (UInt64(head[0]), head[1])
    let numbers = parts.map { Set($0.dropFirst().compactMap { Int($0) }) }
    (items, lives, weather) = (numbers[0], numbers[1], numbers[2])
    deeds = numbers.count > 3 ? numbers[3] : []
  }

  var description: String {
    func list(_ numbers: Set<Int>) -> String { numbers.sorted().map { " \($0)" }.joined() }
    let deeds = (deeds.isEmpty ? "" : ", deeds\(list(deeds))") + (hasTrees ? ", trees" : "")
    return
      "seed \(seed) of \(count): items\(list(items)), lives\(list(lives)), weather\(list(weather))\(deeds)"
  }

  var scenario: Scenario {
    var scenario = Scenario(seed: seed, items: count, mayHaveTrees: hasTrees)
    scenario.items.removeAll { !items.contains($0.number) }
    scenario.lives.removeAll { !lives.contains($0.number) }
    scenario.weather.removeAll { !weather.contains($0.number) }
    scenario.deeds.removeAll { !deeds.contains($0.number) }
    return scenario
  }

  /// Leaves out what is not needed to fail.
  func shrunk(fails: (KeptScenario) throws -> Bool) rethrows -> KeptScenario {
    var smallest = self
    for part in [\KeptScenario.weather, \.deeds, \.lives, \.items] {
      var size = max(smallest[keyPath: part].count / 2, 1)
      while true {
        var isSmaller = false
        let numbers = smallest[keyPath: part].sorted()
        for start in stride(from: 0, to: numbers.count, by: size) {
          var candidate = smallest
          candidate[keyPath: part].subtract(numbers[start..<min(start + size, numbers.count)])
          if candidate[keyPath: part] != smallest[keyPath: part], try fails(candidate) {
            smallest = candidate
            isSmaller = true
          }
        }
        if size == 1 && !isSmaller { break }
        if !isSmaller { size /= 2 }
      }
    }
    return smallest
  }
}
