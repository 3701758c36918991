import CPlatform
import Foundation
import Glibc
import Testing

/// Clients that close while they are sent something. No other connection ends with theirs.
@Suite(.serialized)
struct LeavingClientTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func oneThatClosesDuringADownloadEndsNoOther() throws {
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { max-size: 10MB }\n")
    let path = folder.path + "/http.sock"
    let served = try ServedHome(folder, options: ["--config", "serve.yaml", "--listen", "unix:\(path)"])
    let token = try served.token("ann")
    struct Created: Decodable { var id: String }
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.bin", token: token, body: Data(count: 8_000_000)
    ).decoded(Created.self).id
    let content = "/v1/attachments/\(id)/content"
    try Resident.wait("there is a content") { try served.ask("HEAD", content, token: token).status == 200 }
    let server = served.server
    let stream = try served.listen(token)
    #expect(stream.next()?.kind == "start")
    let request = "GET \(content) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
    for round in 0..<100 {
      let socket = round % 2 == 0 ? try served.connected() : try Self.connected(path)
      sluice_limit_receiving(socket, 20_000)
      _ = send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL))
      // All that is there is read, so that the end is an end and no reset.
      var room = [UInt8](repeating: 0, count: 1 << 20)
      for _ in 0...(round % 5) where recv(socket, &room, room.count, 0) <= 0 { break }
      close(socket)
    }
    #expect(try served.ask("GET", content, token: token).body.count == 8_000_000)
    #expect(served.server == server && !served.errors.contains("signal"), "\(served.errors)")
    #expect(!stream.isOver())
    stream.close()
    #expect(served.stop() == 0)
  }

  private static func connected(_ path: String) throws -> Int32 {
    let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(FakeScanner.withAddress(of: path) { connect(made, $0, $1) } == 0)
    return made
  }
}
