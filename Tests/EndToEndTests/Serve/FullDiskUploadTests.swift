import Foundation
import Glibc
import Testing

/// The disk for uploads becomes full, at each step of one: the client is told, and goes on once there is room.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, Comment(rawValue: SmallDisk.skipped)))
struct FullDiskUploadTests {
  private static let tus = "Tus-Resumable: 1.0.0"
  private static let octets = "Content-Type: application/offset+octet-stream"

  private func content(_ seed: UInt8) -> Data {
    Data((0..<(6 << 20)).map { UInt8(truncatingIfNeeded: $0 >> 8) ^ seed })
  }

  @Test func aFullDiskIsToldAndTheUploadGoesOn() throws {
    let folder = try TemporaryFolder()
    // 64 MiB are to stay free.
    let disk = try SmallDisk(folder.path + "/home/uploads", size: "96m")
    try folder.write("pipeline.yaml", Pipelines.open)
    let served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    let ann = try served.token("ann")
    let client = TusClient(served: served, token: ann)
    func size(_ place: String) -> Int? {
      let name = place.split(separator: "/").last.map(String.init) ?? ""
      let facts = try? FileManager.default.attributesOfItem(atPath: disk.path + "/" + name)
      return facts?[.size] as? Int
    }
    // One has its room from the beginning, the others do not say how long they are.
    let reserved = try client.begin(content(1), name: "reserved.bin")
    func open(_ name: String) throws -> String {
      let answer = try served.ask(
        "POST", "/v1/uploads", token: ann, [Self.tus, "Upload-Defer-Length: 1"], body: Data())
      #expect(answer.status == 201, "\(name): \(answer.text)")
      return try #require(answer.fields["location"])
    }
    let (halved, checked) = (try open("halved"), try open("checked"))
    let length = "Upload-Length: \(content(2).count)"
    #expect(throws: ServedHome.Lost.self) {
      try served.ask(
        "PATCH", halved, token: ann, [Self.tus, Self.octets, "Upload-Offset: 0", length], body: content(2),
        leaving: 2 << 20)
    }
    try disk.fill("ballast")

    func expectFull(_ answer: ServedHome.Answer, _ what: String) {
      #expect(answer.status == 507 && answer.text.contains("no-room"), "\(what): \(answer.status)")
    }
    let before = try client.state(halved).offset
    expectFull(try client.append(content(2), at: before, to: halved), "going on")
    let honest = try client.state(halved).offset
    #expect(honest == size(halved) && honest >= before && honest < content(2).count)
    let checksum = "Upload-Checksum: sha1 \(Data(count: 20).base64EncodedString())"
    expectFull(
      try served.ask(
        "PATCH", checked, token: ann, [Self.tus, Self.octets, "Upload-Offset: 0", length, checksum],
        body: content(3)), "with a checksum")
    #expect(try client.state(checked).offset == 0)
    for fields in [[length], ["Upload-Defer-Length: 1"]] {
      expectFull(
        try served.ask("POST", "/v1/uploads", token: ann, [Self.tus] + fields, body: Data()), "beginning")
    }
    expectFull(try served.ask("POST", "/v1/attachments?filename=a", token: ann, body: content(4)), "at once")
    let kept = try client.append(content(1), at: 0, to: reserved)
    #expect(kept.status == 204 && kept.fields["attachment-id"] != nil, "its room was reserved")

    #expect(unlink(disk.path + "/ballast") == 0)
    let ids = [try client.finish(content(2), halved), try client.finish(content(3), checked)]
    for (id, wanted) in zip(ids, [content(2), content(3)]) {
      try Resident.wait("there is a content") {
        try served.ask("HEAD", "/v1/attachments/\(id)/content", token: ann).status == 200
      }
      #expect(try served.ask("GET", "/v1/attachments/\(id)/content", token: ann).body == wanted)
    }
    #expect(served.stop() == 0)
  }
}
