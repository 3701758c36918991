import Foundation
import Glibc
import Testing

/// A server that is asked to end, and what its clients have of it.
@Suite(.serialized)
struct ServedStopTests {
  /// Begins to send a content, and goes on never.
  private func hang(_ served: ServedHome) throws -> RawConnection {
    let connection = try RawConnection(port: served.port)
    connection.send(
      "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(try served.token("ann"))\r\n"
        + "Content-Length: 100000\r\n\r\nabc")
    let folder = served.folder
    try Resident.wait("its upload has begun") { !folder.files(below: "home/uploads").isEmpty }
    return connection
  }

  @Test func whatItWaitsForIsSaidAtOnceAndHasFewSeconds() throws {
    let served = try ServedHome(TemporaryFolder())
    let connection = try hang(served)
    let began = Date()
    kill(served.coordinator, SIGTERM)
    try Resident.wait("it says what it waits for", seconds: 2) {
      served.errors.contains("stopping: 1 request ends first, within 5 s; a second signal ends it at once")
    }
    #expect(served.stop(0) == 0)
    #expect(4...90 ~= Date().timeIntervalSince(began))
    connection.close()
  }

  /// As it does while attachments are in hand.
  @Test func aSecondSignalEndsItAtOnce() throws {
    let served = try ServedHome(TemporaryFolder())
    let (connection, server) = (try hang(served), served.server)
    kill(served.coordinator, SIGTERM)
    try Resident.wait("it says what it waits for", seconds: 2) { served.errors.contains("stopping: ") }
    let began = Date()
    #expect(served.stop(SIGTERM) == 143)
    #expect(Date().timeIntervalSince(began) < 60)
    waitBriefly(2) { kill(server, 0) != 0 }
    #expect(kill(server, 0) != 0, "nothing is left of it")
    connection.close()
  }

  /// They would have it wait, and lose nothing: they come again.
  @Test func streamsOfEventsEndAtOnce() throws {
    let served = try ServedHome(TemporaryFolder())
    let stream = try served.listen(try served.token("ann"))
    #expect(stream.next()?.kind == "start")
    let began = Date()
    #expect(served.stop() == 0)
    #expect(Date().timeIntervalSince(began) < 60)
    #expect(stream.isOver())
    #expect(!served.errors.contains("stopping: "), "\(served.errors)")
  }
}
