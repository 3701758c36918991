import Foundation
import FrontWire
import LedgerPort
import Platform
import Synchronization
import Testing

@testable import FrontDoor

struct AccessLogTests {
  private static let end = FrontEnd(status: 200, received: 5, sent: 70, microseconds: 1500, isWhole: true)

  private static func entry(_ fields: [FrontRequest.Pair] = []) -> AccessLog.Entry {
    let request = FrontRequest(
      serial: 1, method: "GET", segments: ["v1", "attachments"], query: [.init("token", "secret")],
      fields: fields, peer: "::1")
    return AccessLog.Entry(request, peer: "192.0.2.1")
  }

  @Test func aLineSaysWhatWasAskedAndByWhom() throws {
    var entry = Self.entry([
      .init("authorization", "Bearer secret"), .init("cookie", "secret"), .init("user-agent", "curl\n/\"7\""),
      .init("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ])
    entry.token = AccessToken(id: "3f9a", name: "ann", role: .user, createdAt: 0)
    let line = AccessLog.line(entry, Self.end, at: 0)
    #expect(
      line == """
        {"time":"1970-01-01T00:00:00.000Z","peer":"192.0.2.1","method":"GET","path":"/v1/attachments","status":200,\
        "receivedBytes":5,"sentBytes":70,"seconds":0.0015,"isWhole":true,"token":"3f9a","name":"ann","role":"user",\
        "userAgent":"curl\\n/\\"7\\"","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        """)
    #expect(!line.contains("secret"))
    let other = Self.entry([
      .init("traceparent", "00-x"), .init("user-agent", String(repeating: "a", count: 999)),
    ])
    let text = AccessLog.line(other, Self.end, at: 0)
    #expect(!text.contains("traceparent") && text.utf8.count < 600)
  }

  @Test func aFileThatIsMovedIsFollowedByANewOne() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let told = Mutex<[String]>([])
    let log = try AccessLog(folder + "/access.log") { line in told.withLock { $0.append(line) } }
    log.add(Self.entry(), Self.end)
    log.reopenWhereMoved()
    log.add(Self.entry(), Self.end)
    try FileManager.default.moveItem(atPath: folder + "/access.log", toPath: folder + "/access.log.1")
    log.add(Self.entry(), Self.end)
    log.reopenWhereMoved()
    log.add(Self.entry(), Self.end)
    func lines(_ name: String) throws -> Int {
      try String(contentsOfFile: folder + "/" + name, encoding: .utf8).split(separator: "\n").count
    }
    #expect(try lines("access.log.1") == 3 && lines("access.log") == 1)
    #expect(told.withLock { $0 }.isEmpty)
  }

  /// A disk that is full is told once, and stops nothing.
  @Test func linesThatAreLostAreTold() throws {
    let told = Mutex<[String]>([])
    let log = try AccessLog("/dev/full") { line in told.withLock { $0.append(line) } }
    for _ in 0..<5 { log.add(Self.entry(), Self.end) }
    #expect(told.withLock { $0 }.count == 1)
    #expect(throws: SystemError.self) { try AccessLog("/nowhere/access.log") { _ in } }
  }
}
