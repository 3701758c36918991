import Foundation
import Glibc
import Testing

/// SIGHUP has `sluice serve` read its pipeline again: for what is taken in, for checks, and at the doors.
@Suite(.serialized)
struct ServedReloadTests {
  private struct Judgement: Decodable { var verdict: String }

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func allowing(_ type: String) -> String {
    "version: 1\nstages:\n  - use: mime\n    options: { allow: [\(type)] }\n"
  }

  private func writeServe(_ type: String, _ door: ClamdDoor) throws {
    try folder.write(
      "serve.yaml",
      Self.allowing(type)
        + "  - use: store\n    options: { path: \"{attachmentId}\" }\n"
        + "serve: { clamd: [{ listen: \"unix:\(door.path)\", pipeline: judge.yaml, max-size: 1MB, unknown: error }] }\n"
    )
  }

  @Test func checksAndDoorsFollowTheirPipelines() throws {
    let door = try ClamdDoor(folder, judging: Self.allowing("image/png"))
    let ann = try door.served.token("ann")
    let text = Array("some text\n".utf8)
    func check() throws -> String {
      try door.served.ask("POST", "/v1/check?filename=a.txt", token: ann, body: Data(text)).decoded(
        Judgement.self
      )
      .verdict
    }
    #expect(try door.verdict(text) == "stream: Sluice.mime.type-not-allowed FOUND")
    #expect(try check() == "clean")
    // One that is judged meanwhile has its answer.
    let half = try ClamdClient(door.path)
    half.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(text).dropLast(4))
    try folder.write("judge.yaml", Self.allowing("text/plain"))
    try writeServe("image/png", door)
    try door.served.reload()
    try Resident.wait("the door follows") { try door.verdict(text) == "stream: OK" }
    #expect(try door.verdict(ClamdDoorTests.image) == "stream: Sluice.mime.type-not-allowed FOUND")
    #expect(try check() == "found")
    half.send([0, 0, 0, 0])
    #expect(half.answer()?.hasPrefix("stream: ") == true)
    // A faulty one at a door is told, and changes nothing.
    try folder.write("judge.yaml", "version: 1\nstages: [{ use: mimee }]\n")
    kill(door.served.coordinator, SIGHUP)
    try Resident.wait("it is told") { door.served.errors.contains("the pipeline stays as it was") }
    #expect(door.served.errors.contains("unknown stage 'mimee'"))
    #expect(try door.verdict(text) == "stream: OK")
    #expect(try check() == "found")
    #expect(door.served.stop() == 0)
  }
}
