import Foundation
import Platform

let usage = """
  usage: sluice-simulator [--first SEED] [--seeds COUNT] [--items COUNT] [--kept FILE] [--trace] [LINE]

  Takes the scheduler through simulated days: crashes, power losses, weather. Each seed is another scenario, and the same seed
  always the same. A failing one is shrunk to a line, which --kept FILE holds one of in each line, and which can be given
  itself. --trace shows all that happens.
  """

struct Options {
  var first = 1
  var seeds = 100
  var items = 60
  var kept: String?
  var isTraced = false
  var line: String?

  init(_ words: [String]) {
    var words = words[...]
    func number() -> Int {
      guard let word = words.popFirst(), let number = Int(word), number >= 0 else { Self.refuse() }
      return number
    }
    while let word = words.popFirst() {
      switch word {
      case "--first": first = number()
      case "--seeds": seeds = number()
      case "--items": items = number()
      case "--trace": isTraced = true
      case "--kept": kept = words.popFirst()
      default:
        if word.hasPrefix("-") { Self.refuse() }
        line = word
      }
    }
  }

  private static func refuse() -> Never {
    print(usage)
    exit(64)
  }
}

struct Simulator {
  let options: Options
  let folder: String
  var runs = 0
  var crashes = 0
  var failures = 0
  var hash: UInt64 = 0

  /// Runs a scenario, and returns what is broken first.
  mutating func run(_ scenario: Scenario, isTraced: Bool = false) throws -> String? {
    let trace = Trace(isShown: isTraced)
    let simulation = try Simulation(scenario, in: folder + "/in", trace)
    simulation.run()
    runs += 1
    crashes += simulation.crashes
    hash = hash &* 31 &+ trace.hash
    return simulation.world.flaws.first
  }

  /// Runs a scenario, and tells a failure with the smallest scenario that fails.
  mutating func judge(_ scenario: Scenario, of count: Int) throws {
    guard let flaw = try run(scenario, isTraced: options.isTraced) else { return }
    failures += 1
    let shrunk = try KeptScenario(scenario, of: count).shrunk { try run($0.scenario) != nil }
    print("\(shrunk)\n  \(try run(shrunk.scenario) ?? flaw)")
  }
}

let options = Options(Array(CommandLine.arguments.dropFirst()))
let isInMemory = access("/dev/shm", W_OK) == 0
// Sources are on record with their paths: with as many digits each time, a seed has the same trace in each process.
let folder =
  (isInMemory ? "/dev/shm" : NSTemporaryDirectory()) + "/sluice-simulator-\(10_000_000 + Int(getpid()))"
let began = Clock.monotonic()
var simulator = Simulator(options: options, folder: folder)
var elapsed: Double { Double(Clock.monotonic() - began) / 1e9 }
do {
  let lines = try options.kept.map { try String(contentsOfFile: $0, encoding: .utf8) } ?? ""
  let kept = (options.line.map { [$0] } ?? lines.split(separator: "\n").map(String.init)).filter {
    !$0.hasPrefix("#")
  }
  for line in kept {
    guard let one = KeptScenario(line) else {
      print("no scenario: \(line)")
      exit(65)
    }
    try simulator.judge(one.scenario, of: one.count)
  }
  var seed = options.first
  while options.line == nil, seed < options.first + options.seeds {
    try simulator.judge(Scenario(seed: UInt64(seed), items: options.items), of: options.items)
    seed += 1
  }
} catch {
  print("\(error)")
  exit(74)
}
try? FileManager.default.removeItem(atPath: folder)
print(
  "\(simulator.runs) scenarios, \(simulator.crashes) crashes, \(simulator.failures) failures, "
    + "\(String(format: "%.1f", elapsed)) s, trace \(String(simulator.hash, radix: 16))")
exit(simulator.failures == 0 ? 0 : 1)
