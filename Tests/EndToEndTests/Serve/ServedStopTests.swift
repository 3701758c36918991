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

  private func listed(_ served: ServedHome) throws -> [Printed.Attachment] {
    try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: served.folder)
      .records(Printed.Attachment.self)
  }

  /// The scheduler ends first: it has nothing in hand.
  @Test(arguments: [true, false])
  func aBodyThatEndsAfterTheSignalIsTakenIn(isUpload: Bool) throws {
    let served = try ServedHome(TemporaryFolder())
    let token = try served.token("ann")
    let content = Data(repeating: UInt8(ascii: "a"), count: 100_000)
    var head = "POST /v1/attachments HTTP/1.1\r\n"
    if isUpload {
      let place = try TusClient(served: served, token: token).begin(content, name: "a.txt")
      head =
        "PATCH \(place) HTTP/1.1\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
        + "Content-Type: application/offset+octet-stream\r\n"
    }
    let connection = try RawConnection(port: served.port)
    connection.send(
      head + "Host: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: \(content.count)\r\n\r\na")
    let folder = served.folder
    try Resident.wait("its body is stored") {
      folder.files(below: "home/uploads").contains {
        ((try? folder.read("home/uploads/\($0)")) ?? "").hasPrefix("a")
      }
    }
    kill(served.coordinator, SIGTERM)
    try Resident.wait("it waits for the request") { served.errors.contains("stopping: 1 request ends first") }
    connection.send([UInt8](content.dropFirst()))
    let answer = try #require(connection.answer(within: 30_000))
    #expect(answer.status == (isUpload ? 204 : 201), "\(answer.text)")
    #expect(served.stop(0) == 0)
    #expect(try listed(served).map(\.status) == ["queued"])
    #expect(!served.errors.contains("put on record"), "\(served.errors)")
    let next = try ServedHome(served.folder)
    try Resident.wait("it is worked on") { try listed(next).map(\.status) == ["completed"] }
  }

  /// The scheduler waits for what a stage has in hand.
  @Test func whatComesWhileAStageIsAtWorkIsTakenIn() throws {
    let folder = try TemporaryFolder()
    try folder.write("serve.yaml", Pipelines.storing("- use: misbehave"))
    let served = try ServedHome(
      folder, options: ["--config", "serve.yaml"],
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let token = try served.token("ann")
    let first = try served.ask("POST", "/v1/attachments", token: token, body: Data("misbehave dawdle\n".utf8))
    #expect(first.status == 201, "\(first.text)")
    let connection = try RawConnection(port: served.port)
    connection.send(
      "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: 5\r\n\r\nhell"
    )
    try Resident.wait("its body is stored") {
      folder.files(below: "home/uploads").contains { (try? folder.read("home/uploads/\($0)")) == "hell" }
    }
    kill(served.coordinator, SIGTERM)
    usleep(200_000)
    connection.send("o")
    #expect(try #require(connection.answer(within: 30_000)).status == 201)
    #expect(served.stop(0) == 0)
    #expect(try listed(served).map(\.status).contains("queued"))
  }

  /// Nothing that it waits for can come any more.
  @Test func whoWaitsForALinkIsToldThatItIsQueued() throws {
    let source = try ContentServer(rate: 1000)
    let folder = try TemporaryFolder()
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nlanes: { downloads: { use: http, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("shop", "--role", "service")
    let body = #"{"url":"\#(source.url)/content/900000/a"}"#
    let connection = try RawConnection(port: served.port)
    connection.send(
      "POST /v1/fetch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    try Resident.wait("it is fetched") { source.active == 1 }
    kill(served.coordinator, SIGTERM)
    #expect(connection.answer(within: 60_000)?.status == 202)
    #expect(served.stop(0) == 0)
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
