import Platform
import Testing

@testable import Scheduler

/// Reserved paths of objects on their way: one content for each path, and no path below another.
struct PathReservationTests {
  @Test func equalContentSharesAPathAndOtherContentDoesNot() {
    var paths = PathReservations()
    let first = paths.insert("a/b", "one")
    let shared = paths.insert("a/b", "one")
    let other = paths.insert("a/b", "two")
    #expect(first && shared && !other)
    paths.remove("a/b")
    let stillHeld = paths.insert("a/b", "two")
    #expect(!stillHeld, "the other one holds it")
    paths.remove("a/b")
    let free = paths.insert("a/b", "two")
    #expect(free)
  }

  @Test func noPathLiesBelowAnother() {
    var paths = PathReservations()
    let object = paths.insert("a/b", "one")
    let below = paths.insert("a/b/c", "one")
    let above = paths.insert("a", "one")
    let beside = paths.insert("a/c", "two")
    let alike = paths.insert("a/bc", "three")
    #expect(object && !below && !above && beside && alike)
  }

  @Test func whatIsTakenBackLeavesNothing() {
    var random = SplitMix(state: 5)
    var paths = PathReservations()
    var held: [String] = []
    for _ in 0..<5000 {
      let path = ["a", "a/b", "a/b/c", "a/d", "e", "e/f/g"].randomElement(using: &random) ?? "a"
      if Bool.random(using: &random), let index = held.indices.randomElement(using: &random) {
        paths.remove(held.remove(at: index))
      } else if paths.insert(path, path) {
        held.append(path)
      }
      for one in held {
        let conflicts = held.filter { $0 != one && ($0.hasPrefix(one + "/") || one.hasPrefix($0 + "/")) }
        #expect(conflicts.isEmpty, "\(one) and \(conflicts)")
      }
    }
    for path in held { paths.remove(path) }
    let all = ["a/b/c", "a/d", "e/f/g"].allSatisfy { paths.insert($0, "x") }
    #expect(all)
  }
}
