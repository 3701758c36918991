import Foundation
import Platform

// Simulates coordinators: sluice-simulator [--first SEED] [--seeds COUNT] [--items COUNT] [--trace]
// See Simulation.

func number(_ option: String, _ fallback: Int) -> Int {
  let words = CommandLine.arguments
  guard let place = words.firstIndex(of: option), place + 1 < words.count else { return fallback }
  return Int(words[place + 1]) ?? fallback
}

let first = number("--first", 1)
let count = number("--seeds", 100)
let items = number("--items", 60)
let isTraced = CommandLine.arguments.contains("--trace")
let folder = "/dev/shm/sluice-simulator-\(getpid())"
defer { try? FileManager.default.removeItem(atPath: folder) }

let began = Clock.monotonic()
var failures = 0
var hash: UInt64 = 0
var crashes = 0
for seed in first..<(first + count) {
  let trace = Trace(isShown: isTraced)
  let simulation = try Simulation(Scenario(seed: UInt64(seed), items: items), in: folder + "/in", trace)
  simulation.run()
  crashes += simulation.crashes
  hash = hash &* 31 &+ trace.hash
  guard let flaw = simulation.world.flaws.first else { continue }
  failures += 1
  print("seed \(seed): \(flaw)")
}
let seconds = Double(Clock.monotonic() - began) / 1e9
print(
  "\(count) seeds, \(crashes) crashes, \(failures) failures, \(String(format: "%.1f", seconds)) s, trace \(String(hash, radix: 16))"
)
exit(failures == 0 ? 0 : 1)
