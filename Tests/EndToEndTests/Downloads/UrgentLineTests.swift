import Foundation
import Testing

/// A link that is wanted before all others, over a slow line that eight others have filled.
@Suite(.serialized, .enabled(if: TwoHosts.canSlowDown, Comment(rawValue: TwoHosts.cannotSlowDown)))
struct UrgentLineTests {
  /// The first is the easy one: by the second the kernel has given the others room for megabytes.
  @Test func fiveMegabytesComeInThreeSecondsOverAFullLine() throws {
    // With room for a machine that does other things beside: what is held badly takes five times as long.
    #expect(try FullLine(size: 10_000_000).run(rounds: 3, limit: 60) == 0)
  }
}

/// The long version, for `make soak`.
@Suite(
  .serialized, .enabled(if: Soak.isOn, Soak.skipped),
  .enabled(if: TwoHosts.canSlowDown, Comment(rawValue: TwoHosts.cannotSlowDown)))
struct UrgentLineSoakTests {
  @Test func fiveMegabytesComeInThreeSecondsEachTime() throws {
    let failures = try FullLine(size: 40_000_000).run(rounds: 100, limit: 3)
    Soak.row("an urgent link over a line that others fill", tries: 100, failures: failures)
  }
}

/// A line of 20 Mbit a second, with eight transfers under way.
private final class FullLine {
  private let home: DownloadHome
  private let hosts: TwoHosts
  private let coordinator: Process
  private let base = "http://\(TwoHosts.address(1)):\(TwoHosts.port)"
  private let others: [String]
  private var keys: Set<Int> = []

  /// Of 20 Mbit a second, 5 MB take 2 s.
  private static let urgentSize = 5_000_000

  /// - Parameter size: of each of the others.
  init(size: Int) throws {
    home = try DownloadHome(["connections: 8", "per-host: 8"], addresses: [TwoHosts.address(1)])
    others = (1...8).map { "/content/\(size)/other-\($0)" }
    for path in others + ["/content/\(Self.urgentSize)/now"] { try Self.serve(path, home.folder) }
    hosts = try TwoHosts(home.folder, hosts: 1)
    try hosts.slowDown()
    coordinator = try hosts.startCoordinator()
  }

  deinit {
    if coordinator.isRunning { kill(coordinator.processIdentifier, SIGKILL) }
  }

  private static func serve(_ path: String, _ folder: TemporaryFolder) throws {
    var content = Data()
    ContentServer.pieces(of: path, from: 0, to: ContentServer.size(of: path) ?? 0) {
      content.append(contentsOf: $0)
      return true
    }
    try folder.write("served" + path, content)
  }

  /// Returns how many checks failed.
  ///
  /// - Parameter limit: seconds that the urgent link may take.
  func run(rounds: Int, limit: Double) throws -> Int {
    try home.enqueue(others, at: base)
    try Resident.wait("all eight are under way") {
      let partials = home.partials()
      return partials.count == 8 && partials.allSatisfy { $0.facts.st_size > 200_000 }
    }
    keys = Set(home.partials().map(\.key))
    var failures = 0
    for round in 1...rounds {
      let before = home.partialBytes(of: keys)
      try Resident.wait("the others go on") { home.partialBytes(of: keys) > before }
      let begin = Date()
      // Another link each time, to the same content.
      let outcome = try home.sluice(
        "fetch", "--now", "--format", "json", "\(base)/content/\(Self.urgentSize)/now?\(round)")
      let seconds = Date().timeIntervalSince(begin)
      let isRight =
        outcome.status == 0
        && outcome.attachments.first?.sha256 == ContentServer.sha256(of: "/content/\(Self.urgentSize)/now")
      #expect(isRight, "\(outcome.err)")
      #expect(seconds < limit, "round \(round): \(seconds) s")
      if !isRight || seconds >= limit { failures += 1 }
    }
    try hosts.speedUp()
    failures += try home.checkCompleted(others)
    kill(coordinator.processIdentifier, SIGTERM)
    coordinator.waitUntilExit()
    // Nothing was interrupted, and so nothing was asked for twice.
    let asked = try hosts.requests().count { others.contains($0.path) }
    #expect(asked == 8, "\(asked) requests")
    return failures + (asked == 8 ? 0 : 1)
  }
}
