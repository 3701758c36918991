import Foundation
import Platform
import Testing

/// Objects of trees are lost, attachments deleted, coordinators killed and repairs made, in any order. In the end nothing is gone but
/// what was deleted, nothing is doubled, and what cannot come again is said and can be deleted. `make soak` does it more often.
@Suite(.serialized)
struct TreeRepairTests {
  @Test(arguments: 1...3 as ClosedRange<UInt64>) func whatIsLostComesAgainOrIsSaid(seed: UInt64) throws {
    try TreeTrial(seed: seed).run(steps: 10)
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct TreeRepairSoakTests {
  @Test func whatIsLostComesAgainOrIsSaid() throws {
    var failures = 0
    for seed in 100..<160 as Range<UInt64> {
      let trial = try TreeTrial(seed: seed)
      try trial.run(steps: 14)
      failures += trial.failures
    }
    Soak.row("losses and repairs in trees", tries: 60, failures: failures)
  }
}

private final class TreeTrial {
  private let home: DerivedHome
  private let seed: UInt64
  private var random: SplitMix
  /// What there was at first, by id.
  private let all: [String: DerivedHome.Row]
  private var deleted: Set<String> = []
  private(set) var failures = 0
  /// What was done, to be told with a failure.
  private var story: [String] = []

  init(seed: UInt64) throws {
    (self.seed, random) = (seed, SplitMix(state: seed))
    home = try DerivedHome("- use: expand\n- use: derive")
    for number in 0..<4 {
      let texts = ["one", "x", "y", "two", "three", "z"].map { "\($0) of \(number)" }
      try home.add(
        "\(number).txt",
        "root \(number)\n>\(texts[0])|>\(texts[1])|>\(texts[2])\n>\(texts[3])\n>\(texts[4])|>\(texts[5])\n")
    }
    #expect(try home.ingest().status == 0)
    all = Dictionary(uniqueKeysWithValues: try home.rows().map { ($0.id, $0) })
    #expect(all.count == 28)
  }

  func run(steps: Int) throws {
    for _ in 0..<steps { try step() }
    try settle()
    try check()
  }

  private func step() throws {
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1:
      let stored = try home.rows("--status", "completed").shuffled(using: &random)
      for row in stored.prefix(.random(in: 1...4, using: &random)) { lose(row) }
    case 2:
      guard let row = try home.rows().randomElement(using: &random) else { return }
      story.append("delete \(row.id)")
      if try home.sluice("delete", row.id).status == 0 { deleted.insert(row.id) }
    case 3:
      story.append("repair")
      try home.sluice("verify", "--repair")
    case 4:
      guard let row = try home.rows().filter({ $0.status != "completed" }).randomElement(using: &random)
      else { return }
      story.append("retry \(row.id)")
      try home.sluice("retry", row.id)
    default: try killedIngest()
    }
  }

  private func lose(_ row: DerivedHome.Row) {
    guard let url = row.url else { return }
    story.append("lose \(row.id)")
    try? FileManager.default.removeItem(atPath: "\(home.folder.path)/home/store/\(url)")
  }

  private func killedIngest() throws {
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--sender", "ann", "--participants", "ann,ben", "in"], in: home.folder,
      out: home.folder.path + "/.out", err: home.folder.path + "/.err",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let time = UInt32.random(in: 10_000...200_000, using: &random)
    usleep(time)
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    story.append("ingest, killed after \(time / 1000) ms")
  }

  /// Each repair may bring back a level of a tree more.
  private func settle() throws {
    for _ in 0..<4 {
      try home.sluice("verify", "--repair")
      try home.ingest()
    }
  }

  private func check() throws {
    let rows = try home.rows()
    let verified = try home.sluice("verify")
    // No two have the same content at first.
    let doubled = try home.count(
      "(SELECT sha256 FROM attachments WHERE sha256 IS NOT NULL GROUP BY sha256 HAVING count(*) > 1)")
    expect(doubled == 0, "\(doubled ?? -1) contents are doubled")
    let known = Set(rows.map(\.id))
    for id in all.keys where !deleted.contains(id) { expect(known.contains(id), "\(id) is gone") }
    for row in rows where row.status != "completed" {
      expect(row.status == "failed" && verified.out.contains(row.id), "\(row.id) is \(row.status), unsaid")
      expect(isOrphan(row), "\(row.id) could come again: \(row.reason?.message ?? "")")
      try home.sluice("delete", row.id)
    }
    let end = try home.sluice("verify")
    expect(end.status == 0, "\(end.out)")
    if failures == 0 { try home.checkWhole() }
  }

  /// Whether something that it was in was deleted.
  private func isOrphan(_ row: DerivedHome.Row) -> Bool {
    var parent = all[row.id]?.parentId ?? row.parentId
    while let id = parent {
      if deleted.contains(id) { return true }
      parent = all[id]?.parentId
    }
    return false
  }

  private func expect(_ condition: Bool, _ what: String, _ place: SourceLocation = #_sourceLocation) {
    if !condition { failures += 1 }
    #expect(
      condition, "seed \(seed): \(what), after: \(story.joined(separator: "; "))", sourceLocation: place)
  }
}
