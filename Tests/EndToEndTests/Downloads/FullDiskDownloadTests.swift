import Foundation
import Platform
import Testing

/// A disk that becomes full while links are fetched: the lane stops, what is not on record is given back, and a person lets it
/// go on.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, Comment(rawValue: SmallDisk.skipped)))
struct FullDiskDownloadTests {
  @Test(arguments: ["home/downloads", "home"])
  func aFullDiskStopsTheLaneUntilAPersonLetsItGoOn(place: String) throws {
    #expect(try FillingDisk(place, rounds: 2, seed: 3).run() == 0)
  }

  /// What was fetched is linked into the store, and not copied: there is no room for it twice.
  @Test func aLinkNeedsRoomForItsContentOnce() throws {
    let home = try DownloadHome()
    let disk = try SmallDisk(home.folder.path + "/home", size: "48m")
    let server = try ContentServer()
    let coordinator = try Resident(home.folder)
    let paths = ["/content/\(24 << 20)/once"]
    try home.enqueue(paths, at: server.url)
    try home.checkCompleted(paths)
    #expect(home.folder.files(below: "home/store/.incoming").isEmpty)
    #expect(try home.sluice("verify").status == 0)
    #expect(coordinator.stop() == 0, "\(coordinator.errors)")
    withExtendedLifetime(disk) {}
  }

  /// Each of them has room, and all of them have not: what their servers announce is counted before it comes.
  @Test func whatIsStillToComeCountsForMinFree() throws {
    let home = try DownloadHome(["connections: 4", "per-host: 4"])
    let disk = try SmallDisk(home.folder.path + "/home/downloads", size: "16m")
    let server = try ContentServer()
    // The coordinator knows the lengths long before the contents fill the disk.
    server.setRate(2 << 20)
    let paths = (0..<4).map { "/content/\(4 << 20)/announced-\($0)" }
    let coordinator = try Resident(home.folder)
    try home.enqueue(paths, at: server.url)
    try home.checkCompleted(paths)
    #expect(!coordinator.errors.contains("disk-full"), "\(coordinator.errors)")
    let large = ["/content/\(20 << 20)/large"]
    try home.enqueue(large, at: server.url)
    try Resident.wait("the lane is paused") { try home.sluice("status").out.contains("disk-full") }
    let status = try home.sluice("status").out
    #expect(status.contains("MB are still to come, and 1.0 MB are to stay free"), "\(status)")
    #expect(server.bytes(of: large) < 8 << 20)
    #expect(coordinator.stop() == 0, "\(coordinator.errors)")
    withExtendedLifetime(disk) {}
  }

  /// A large link lets smaller ones go first. Alone, it pauses the lane, and the reason names the way out.
  @Test func aLinkThatDoesNotFitHoldsUpNoOther() throws {
    let home = try DownloadHome()
    let disk = try SmallDisk(home.folder.path + "/home/downloads", size: "16m")
    let server = try ContentServer()
    let large = "/content/\(20 << 20)/large"
    let good = (0..<3).map { "/content/\(4 << 20)/good-\($0)" }
    let coordinator = try Resident(home.folder)
    try home.enqueue([large], at: server.url)
    try Resident.wait("the lane is paused") { try home.sluice("status").out.contains("disk-full") }
    try home.enqueue(good, at: server.url)
    #expect(try home.sluice("resume", "downloads").status == 0)
    try home.checkCompleted(good)
    try Resident.wait("the lane is paused again") { try home.sluice("status").out.contains("disk-full") }
    let id = try #require(try home.listed().first { $0.fileName == large }).id
    #expect(try home.sluice("status").out.contains("`sluice cancel \(id)`"))
    #expect(coordinator.stop() == 0, "\(coordinator.errors)")
    withExtendedLifetime(disk) {}
  }

  /// Two parts fill the disk, and neither link fits. The link with fewer bytes to come goes on, and the other begins again.
  @Test func partsThatBlockEachOtherGiveWay() throws {
    let home = try DownloadHome()
    let disk = try SmallDisk(home.folder.path + "/home/downloads", size: "32m")
    let server = try ContentServer(rate: 4 << 20)
    let coordinator = try Resident(home.folder)
    // Both have one size: the second fits once the first is stored.
    let size = 12 << 20
    let paths = (0..<2).map { "/content/\(size)/part-\($0)" }
    try home.enqueue(paths, at: server.url)
    try Resident.wait("half of both is here") { paths.allSatisfy { server.bytes(of: [$0]) > 6 << 20 } }
    try disk.fill("filler")
    try Resident.wait("the lane is paused") { try home.sluice("status").out.contains("disk-full") }
    try Resident.wait("nothing is under way") { try home.downloads("running").isEmpty }
    server.setRate(0)
    let parts = home.partials().map { Int($0.facts.st_size) }.sorted()
    try #require(parts.count == 2)
    // The larger part fits with the smaller one gone, and not before.
    let free = max(size - parts[1] + (3 << 19) - parts[0], 0)
    truncate(disk.path + "/filler", off_t((32 << 20) - parts[0] - parts[1] - free))
    #expect(try home.sluice("resume", "downloads").status == 0)
    try home.checkCompleted(paths)
    #expect(try home.sluice("status").out.contains("disk-full") == false)
    let again = server.bytes(of: paths) - 2 * size
    #expect(again >= parts[0], "one of them began again: \(again)")
    #expect(coordinator.stop() == 0, "\(coordinator.errors)")
    withExtendedLifetime(disk) {}
  }

  /// Nothing tells how much is still to come: it is stopped before it takes what is to stay free, and is named.
  @Test func whatHasNoLengthLeavesWhatIsToStayFree() throws {
    let home = try DownloadHome(minFree: "8MB")
    let disk = try SmallDisk(home.folder.path + "/home/downloads", size: "24m")
    let server = try ContentServer(rate: 8 << 20)
    let coordinator = try Resident(home.folder)
    let endless = "/content/\(150 << 20)/endless"
    try home.enqueue([endless + "?unmeasured"], at: server.url)
    try Resident.wait("the lane is paused") { try home.sluice("status").out.contains("disk-full") }
    #expect(server.bytes(of: [endless]) < 21 << 20, "8 MB stay free, but for what came meanwhile")
    let status = try home.sluice("status").out
    #expect(status.contains("MB there are of links that are not done"), "\(status)")
    let id = try #require(try home.listed().first).id
    #expect(try home.sluice("cancel", id).status == 0)
    #expect(try home.sluice("resume", "downloads").status == 0)
    let good = ["/content/\(2 << 20)/good"]
    try home.enqueue(good, at: server.url)
    try home.checkCompleted(good)
    #expect(coordinator.stop() == 0, "\(coordinator.errors)")
    withExtendedLifetime(disk) {}
  }
}

/// The long version, for `make soak`.
@Suite(
  .serialized, .enabled(if: Soak.isOn, Soak.skipped),
  .enabled(if: SmallDisk.isPossible, Comment(rawValue: SmallDisk.skipped)))
struct FullDiskDownloadSoakTests {
  @Test(arguments: ["home/downloads", "home"])
  func nothingIsLostHoweverOftenTheDiskIsFull(place: String) throws {
    let disk = try FillingDisk(place, rounds: 200, seed: 5)
    let failures = try disk.run()
    Soak.row("the disk is full while links are fetched: \(place)", tries: disk.done, failures: failures)
  }
}

/// Fills a disk of 64 MB at random moments of transfers, and makes room again.
private final class FillingDisk {
  private let home: DownloadHome
  private let disk: SmallDisk
  private let server: ContentServer
  private let rounds: Int
  private var random: SplitMix
  private var coordinator: Resident
  private var failures = 0
  private(set) var done = 0
  /// Rounds in which the ledger had no room either, so that the coordinator ended.
  private(set) var fullLedgers = 0

  private static let size = 9 << 20
  private static let links = 4

  /// - Parameter place: what lies on the disk: the home, or the files of transfers alone.
  init(_ place: String, rounds: Int, seed: UInt64) throws {
    // With one attempt, whatever counted would be the last.
    home = try DownloadHome(["retry: { attempts: 1 }"])
    disk = try SmallDisk(home.folder.path + "/" + place, size: "64m")
    server = try ContentServer()
    self.rounds = rounds
    random = SplitMix(state: seed)
    coordinator = try Resident(home.folder)
  }

  /// Returns how many checks failed.
  func run() throws -> Int {
    for round in 0..<rounds {
      try self.round(round)
      done += 1
    }
    expect(coordinator.stop() == 0, "it ends")
    let verified = try home.sluice("verify")
    expect(verified.status == 0, "\(verified.out)")
    return failures
  }

  private func expect(_ isSo: Bool, _ text: @autoclosure () -> String) {
    #expect(isSo, "round \(done): \(text())")
    if !isSo { failures += 1 }
  }

  private func round(_ number: Int) throws {
    let paths = (0..<Self.links).map { "/content/\(Self.size)/r\(number)-\($0)" }
    // All four take more than a second.
    server.setRate(30 << 20)
    try home.enqueue(paths, at: server.url)
    try Resident.wait("something came") { self.server.bytes(of: paths) > 1 << 20 }
    usleep(UInt32.random(in: 0...500_000, using: &random))
    try disk.fill("filler")
    server.setRate(0)
    if try isPaused() {
      try checkPaused(paths)
      // No start lifts the pause.
      if number % 2 == 1 { try restart() }
    } else {
      // The ledger had no room for the pause, or for anything else: it says so, and the next one begins where it was.
      fullLedgers += 1
      coordinator.process.waitUntilExit()
      expect(coordinator.process.terminationStatus == 75, "\(coordinator.errors)")
      expect(coordinator.errors.contains("no room on the disk; make room"), coordinator.errors)
    }
    try FileManager.default.removeItem(atPath: disk.path + "/filler")
    if coordinator.process.isRunning {
      try checkStillPaused()
    } else {
      coordinator = try Resident(home.folder)
    }
    // Of the home, the store may have had no room either: its lane goes on by itself, after half a minute.
    let outcome = try home.sluice("resume", "downloads", "attachments")
    expect(outcome.status == 0, outcome.err)
    failures += try home.checkCompleted(paths)
    for path in paths {
      let again = server.bytes(of: [path]) - Self.size
      // 8 MiB that were not on record, and what the kernel held.
      expect(again <= 10 << 20, "\(again) bytes were sent twice")
    }
    expect(try home.sluice("delete", "--status", "completed").status == 0, "they are deleted")
  }

  /// Waits until the lane is paused. False: the coordinator has ended.
  private func isPaused() throws -> Bool {
    try Resident.wait("the lane is paused") {
      try !coordinator.process.isRunning || home.sluice("status").out.contains("disk-full")
    }
    return coordinator.process.isRunning
  }

  /// What is not on record is given back.
  private func checkPaused(_ paths: [String]) throws {
    try Resident.wait("nothing is under way") { try home.downloads("running").isEmpty }
    let left = try home.downloads()
    expect(!left.isEmpty, "it was full before all came")
    for (key, facts) in home.partials() {
      guard let record = left.first(where: { $0.key == key }) else { continue }
      expect(Int(facts.st_size) == record.bytes, "\(facts.st_size) bytes of \(record.bytes) on record")
      expect(Int(facts.st_blocks) * 512 <= record.bytes + 4096, "\(facts.st_blocks) blocks")
    }
  }

  private func restart() throws {
    expect(coordinator.stop() == 0, coordinator.errors)
    coordinator = try Resident(home.folder)
  }

  /// Though there is room, nothing is asked for.
  private func checkStillPaused() throws {
    let requests = server.requests.count
    usleep(300_000)
    expect(server.requests.count == requests, "it is paused, and asks")
    let status = try home.sluice("status").out
    expect(status.contains("disk-full"), status)
  }
}
