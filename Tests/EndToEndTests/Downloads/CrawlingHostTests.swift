import Foundation
import Testing

/// A host that sends next to nothing, for as long as it likes.
@Suite struct CrawlingHostTests {
  /// Its links would have all connections until `total-timeout`, and all places in hand.
  @Test func aHostThatCrawlsDoesNotKeepOthersWaiting() throws {
    let slow = try ContentServer(rate: 4000)
    let good = try ContentServer()
    let home = try DownloadHome(["connections: 2", "per-host: 2"])
    let coordinator = try Resident(home.folder)
    try home.enqueue((0..<8).map { "/content/1000000/slow-\($0)" }, at: slow.url)
    try Resident.wait("the slow ones have all connections") { slow.active == 2 }
    let paths = (0..<6).map { "/content/100000/good-\($0)" }
    try home.enqueue(paths, at: good.url)
    try home.checkCompleted(paths, seconds: 40)
    #expect(slow.active == 2, "it goes on")
    #expect(coordinator.stop() == 0)
  }

  @Test func othersDoNotStandStillForAnUrgentLinkThatCrawls() throws {
    let slow = try ContentServer(rate: 4000)
    let good = try ContentServer()
    let home = try DownloadHome()
    let coordinator = try Resident(home.folder)
    let now = "/content/1000000/now"
    try home.enqueue([now], at: slow.url)
    #expect(try home.sluice("now", try #require(try home.listed().first).id).status == 0)
    try Resident.wait("it is under way") { slow.active == 1 }
    let paths = (0..<3).map { "/content/100000/good-\($0)" }
    try home.enqueue(paths, at: good.url)
    try home.checkCompleted(paths, seconds: 40)
    #expect(slow.active == 1, "it goes on")
    #expect(coordinator.stop() == 0)
  }
}
