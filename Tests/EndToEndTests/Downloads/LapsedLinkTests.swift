import Foundation
import Testing

/// Signed links whose servers say with 400 that their time is over, as Google and temporary credentials of S3 do.
@Suite(.serialized)
struct LapsedLinkTests {
  private static let size = 600_000

  @Test func aLinkThatLapsesHalfWayGoesOnWithANewOne() throws {
    let server = try ContentServer()
    let home = try DownloadHome(["retry: { attempts: 3, backoff: 20ms, max: 50ms }"])
    let link = "\(server.url)/content/\(Self.size)/a"
    #expect(try home.sluice("fetch", "\(link)?lapse&X-Goog-Signature=hidden").status == 1)
    let failed = try #require(try list(home).first)
    #expect(failed.code == "link-expired")
    #expect(try home.downloads("failed").map(\.bytes) == [Self.size / 2], "what came is kept")
    let refresh = try home.sluice("refresh", failed.id, "\(link)?X-Goog-Signature=new")
    #expect(refresh.status == 0, "\(refresh.err)")
    #expect(try home.sluice("ingest", "--manifest", "/dev/null").status == 0)
    #expect(try list(home).map(\.status) == ["completed"])
    let last = try #require(server.requests.last)
    #expect(last.first > 0, "only the rest was asked for")
    #expect(try home.sluice("verify").status == 0)
  }

  /// A link without a signature has no time that could be over.
  @Test func anUnsignedLinkIsNotSaidToHaveExpired() throws {
    let server = try ContentServer()
    let home = try DownloadHome(["retry: { attempts: 3, backoff: 20ms, max: 50ms }"])
    #expect(try home.sluice("fetch", "\(server.url)/content/\(Self.size)/a?lapse&x").status == 1)
    #expect(try list(home).map(\.code) == ["expired"])
  }

  private func list(_ home: DownloadHome) throws -> [Printed.Attachment] {
    try home.sluice("list", "--format", "json").records(Printed.Attachment.self)
  }
}
