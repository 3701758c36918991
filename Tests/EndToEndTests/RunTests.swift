import Foundation
import Platform
import Testing

/// `sluice run` and `sluice enqueue`: files are passed between processes, and every acknowledged file is on
/// record.
@Suite(.serialized)
struct RunTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
  }

  private func enqueue(_ words: [String], home: String = "home", input: String = "") throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(
      ["enqueue", "--home", home, "--participants", "ann,ben", "--sender", "ann"] + words, in: folder,
      input: input)
  }

  private func files(_ count: Int, in name: String = "inbox") throws {
    for number in 0..<count {
      try folder.write("\(name)/\(number).txt", "text number \(number) of \(name)\n")
    }
  }

  private func queued(_ home: String = "home") throws -> Int {
    let status = try SluiceCommand.run(["status", "--home", home, "--format", "json"], in: folder)
    return try #require(try status.only(Printed.Status.self).attachments["queued"]?.count)
  }

  @Test func filesOfAnotherProcessAreWorkedOnAtOnce() throws {
    try files(20)
    let resident = try Resident(folder)
    let outcome = try enqueue(["inbox"])
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.out == "20 queued\n")
    try resident.wait(for: 20)
    let again = try enqueue(["inbox", "--format", "json"]).last(Printed.Enqueued.self)
    #expect(again.known == 20)
    #expect(again.added == 0)
    #expect(resident.stop() == 0)
    #expect(resident.ended.allSatisfy { $0.isCompleted })
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home/sluice.sock"))
    let verified = try SluiceCommand.run(["verify", "--home", "home"], in: folder)
    #expect(verified.status == 0, "\(verified.out)\(verified.err)")
  }

  @Test func withoutACoordinatorFilesWaitForTheNext() throws {
    try files(5)
    #expect(try enqueue(["inbox"]).out == "5 queued\n")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home/store/documents"))
    let resident = try Resident(folder)
    try resident.wait(for: 5)
    #expect(resident.stop(SIGINT) == 0)
  }

  @Test func aLineThroughAPipeIsHandedOverBeforeTheNextIsWritten() throws {
    try files(3)
    let resident = try Resident(folder)
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: SluiceCommand.folder + "/sluice")
    process.arguments = ["enqueue", "--home", "home", "--manifest", "-", "--quiet"]
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.standardInput = pipe
    try process.run()
    for number in 0..<3 {
      pipe.fileHandleForWriting.write(Data("{\"path\": \"inbox/\(number).txt\"}\n".utf8))
      try resident.wait(for: number + 1)
    }
    try pipe.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(resident.stop() == 0)
  }

  @Test func manyClientsAtOnceAreAllAnswered() throws {
    for client in 0..<8 { try files(60, in: "inbox-\(client)") }
    let resident = try Resident(folder)
    let clients = try (0..<8).map { client in
      try SluiceCommand.start(
        ["enqueue", "--home", "home", "inbox-\(client)"], in: folder, out: folder.path + "/\(client).out",
        err: folder.path + "/\(client).err")
    }
    for (number, client) in clients.enumerated() {
      client.waitUntilExit()
      #expect(client.terminationStatus == 0)
      #expect(try folder.read("\(number).out") == "60 queued\n")
    }
    try resident.wait(for: 480)
    #expect(resident.stop() == 0)
  }

  @Test func whatWasAcknowledgedOutlivesTheCoordinator() throws {
    var acknowledged = 0
    for round in 0..<6 {
      try files(40, in: "round-\(round)")
      let resident = try Resident(folder)
      let delay = DispatchTime.now() + .milliseconds(2 + round * 7)
      let pid = resident.process.processIdentifier
      DispatchQueue.global().asyncAfter(deadline: delay) { kill(pid, SIGKILL) }
      let outcome = try enqueue(["round-\(round)"])
      // If the coordinator was killed before it answered, the client reports that; else all files are on
      // record.
      if outcome.status == 0 {
        acknowledged += 40
      } else {
        #expect(outcome.err.contains("run the same command again"))
      }
      resident.process.waitUntilExit()
      #expect(try enqueue(["round-\(round)"]).status == 0)
    }
    let last = try Resident(folder)
    try Resident.wait("the queue is empty") { try queued() == 0 }
    #expect(last.stop() == 0)
    let listed = try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
    #expect(listed.attachments.count == 240, "\(acknowledged) were acknowledged at once")
    #expect(listed.attachments.allSatisfy { $0.isCompleted })
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
  }

  @Test func aSignalLetsWhatIsInHandEndAndKeepsTheRest() throws {
    try files(400)
    let resident = try Resident(folder)
    #expect(try enqueue(["inbox"]).status == 0)
    #expect(resident.stop() == 0, "\(resident.errors)")
    let left = try queued()
    #expect(resident.ended.count + left == 400)
    if left > 0 { #expect(resident.errors.contains("\(left) attachments are left in the queue")) }
  }

  @Test func nonsenseOnTheSocketHarmsNobody() throws {
    try files(2)
    let resident = try Resident(folder)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = folder.path + "/home/sluice.sock"
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    var facts = stat()
    #expect(stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o600, "only the owner may connect")
    for seed in 0..<60 {
      let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(connected == 0)
      var generator = SplitMix(state: UInt64(seed))
      var bytes = (0..<(seed * 7)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      // A plausible length, kind and number of files, but then no files.
      if seed % 3 == 0 && bytes.count > 9 {
        bytes.replaceSubrange(0..<9, with: [20, 0, 0, 0, 32, 1, 0, 0, 0])
      }
      _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      close(client)
    }
    #expect(try enqueue(["inbox"]).status == 0)
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
  }

  @Test func aHomeWhosePathIsLongerThanASocketsMayBe() throws {
    try files(1)
    let home = String(repeating: "long-name/", count: 20) + "home"
    let resident = try Resident(folder, home: home)
    #expect(try enqueue(["inbox"], home: home).status == 0)
    try resident.wait(for: 1)
    #expect(resident.stop() == 0)
  }

  @Test func aSecondCoordinatorIsRefused() throws {
    let resident = try Resident(folder)
    let second = try SluiceCommand.run(["run", "--home", "home", "--config", "pipeline.yaml"], in: folder)
    #expect(second.status == 75)
    #expect(
      second.err.contains("is in use by another sluice (process \(resident.process.processIdentifier))"))
    #expect(resident.stop() == 0)
  }

  @Test(.enabled(if: SmallDisk.isPossible, .init(rawValue: SmallDisk.skipped)))
  func aFullStoreIsTriedAgainWithoutBeingTold() throws {
    for number in 0..<40 {
      try folder.write("inbox/\(number).txt", String(repeating: "line of file \(number)\n", count: 4000))
    }
    let disk = try SmallDisk(folder.path + "/home/store", size: "1m")
    let resident = try Resident(folder)
    #expect(try enqueue(["inbox"]).status == 0)
    try Resident.wait("the lane stops") { resident.errors.contains("paused: attachments: disk-full") }
    #expect(resident.ended.count < 40)
    try disk.grow(to: "16m")
    try resident.wait(for: 40, seconds: 60)
    #expect(resident.errors.contains("trying again: attachments"))
    #expect(resident.ended.allSatisfy { $0.isCompleted })
    #expect(resident.stop() == 0, "\(resident.errors)")
  }
}
