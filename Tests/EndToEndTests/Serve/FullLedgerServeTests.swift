import Foundation
import Glibc
import Testing

/// The disk of the ledger becomes full under a server: it stays, says so, and goes on once there is room.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, Comment(rawValue: SmallDisk.skipped)))
struct FullLedgerServeTests {
  private struct Created: Decodable { var id: String }
  private struct Record: Decodable { var status: String }

  @Test func aServerWithoutRoomForItsLedgerStaysAndGoesOn() throws {
    let folder = try TemporaryFolder()
    // 64 MiB are to stay free for uploads.
    let disk = try SmallDisk(folder.path + "/home", size: "80m")
    defer { withExtendedLifetime(disk) {} }
    let served = try ServedHome(folder)
    let root = try served.token("root", "--role", "admin")
    let ann = try served.token("ann")
    func lane(_ verb: String) throws -> Int {
      try served.ask("POST", "/v1/lanes/attachments/\(verb)", token: root, body: Data()).status
    }
    func post(_ text: String) throws -> ServedHome.Answer {
      try served.ask("POST", "/v1/attachments?filename=a.txt", token: ann, body: Data(text.utf8))
    }
    let first = try post("before\n").decoded(Created.self).id
    func status(_ id: String) throws -> String {
      return try served.ask("GET", "/v1/attachments/\(id)", token: ann).decoded(Record.self).status
    }
    try Resident.wait("it is completed") { try status(first) == "completed" }
    for round in 0..<2 {
      try disk.fill("ballast")
      var refused = 0
      // The room that is reserved is used up first.
      for number in 0..<2000 where refused < 3 {
        let verb = number % 2 == 0 ? "pause" : "resume"
        let answer = try lane(verb)
        #expect([200, 507].contains(answer), "\(answer) \(served.errors)")
        refused += answer == 507 ? 1 : 0
        if number % 100 == 99 { try? disk.fill("ballast-\(round)-\(number)") }
      }
      #expect(refused >= 3)
      #expect(try post("without\n").status == 507)
      #expect(try served.ask("GET", "/v1/attachments/\(first)", token: ann).status == 200)
      // A command that starts the write-ahead log anew finds room in it, and may succeed.
      let paused = try SluiceCommand.run(["pause", "attachments", "--home", "home"], in: folder)
      #expect(paused.status == 0 || paused.err.contains("no room"), "\(paused.err)")
      for name in try FileManager.default.contentsOfDirectory(atPath: disk.path)
      where name.hasPrefix("ballast") {
        unlink(disk.path + "/" + name)
      }
      try Resident.wait("it goes on") { try lane("resume") == 200 }
      let next = try post("after \(round)\n").decoded(Created.self).id
      try Resident.wait("it is completed, too") { try status(next) == "completed" }
    }
    #expect(served.errors.contains("there is no room on the disk of the ledger"), "\(served.errors)")
    #expect(served.stop() == 0)
  }
}
