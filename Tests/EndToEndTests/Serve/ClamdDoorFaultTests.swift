import CPlatform
import Foundation
import Glibc
import Testing

/// The doors for clients of ClamAV's daemon while processes are killed, clients are many, and files are wrong.
@Suite(.serialized)
struct ClamdDoorFaultTests {
  private let folder: TemporaryFolder
  private let text = Array("Dear Ben, …\n".utf8)

  init() throws { folder = try TemporaryFolder() }

  /// A client that has sent all of a content but its end. Its connection is one of the process that serves now.
  private func begin(_ door: ClamdDoor) throws -> ClamdClient {
    let client = try ClamdClient(door.path)
    client.send("zIDSESSION\0zPING\0")
    try #require(client.answer() == "1: PONG")
    client.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(text).dropLast(4))
    return client
  }

  /// Never "OK", and never an answer that is half.
  private func isNoVerdict(_ answer: String?) -> Bool {
    guard let answer, !answer.isEmpty else { return true }
    return answer.hasSuffix("ERROR\0")
  }

  @Test func aKilledServerBreaksItsConnectionsAndAnotherServes() throws {
    let door = try ClamdDoor(folder)
    for _ in 0..<(Soak.isOn ? 100 : 3) {
      let (half, whole) = (try begin(door), try begin(door))
      let keeper = door.keeper
      try #require(keeper > 0)
      whole.send([0, 0, 0, 0])
      kill(keeper, SIGKILL)
      half.send([0, 0, 0, 0])
      #expect(isNoVerdict(half.rest()))
      // Its answer may have been on its way.
      let answer = whole.rest()
      #expect(isNoVerdict(answer) || answer == "2: stream: OK\0", "\(answer ?? "")")
      try Resident.wait("another serves", seconds: 10) {
        door.keeper != 0 && door.keeper != keeper && (try? door.verdict(text)) == "stream: OK"
      }
    }
    #expect(door.served.errors.contains("the server of clamd's clients ended (signal 9)"))
    #expect(door.served.stop() == 0)
  }

  @Test func nothingIsOKOnceTheCoordinatorIsKilled() throws {
    for _ in 0..<(Soak.isOn ? 30 : 2) {
      let door = try ClamdDoor(folder)
      let (half, keeper) = (try begin(door), door.keeper)
      _ = door.served.stop(SIGKILL)
      half.send([0, 0, 0, 0])
      #expect(isNoVerdict(half.rest()))
      try Resident.wait("its server has ended", seconds: 5) { kill(keeper, 0) != 0 }
    }
    // What is left in its place is replaced.
    let door = try ClamdDoor(folder)
    #expect(try door.verdict(text) == "stream: OK")
    #expect(folder.files(below: "home/uploads").isEmpty)
    #expect(door.served.stop() == 0)
  }

  /// The content is judged again, by another worker, or is not decided.
  @Test func killedWorkersCostNoVerdict() throws {
    let door = try ClamdDoor(folder, judging: Self.sleeping, environment: try plugins())
    for round in 0..<(Soak.isOn ? 30 : 3) {
      let client = try ClamdClient(door.path)
      client.send(
        Array("zINSTREAM\0".utf8) + ClamdClient.chunks(Array("misbehave sleep \(round)\n".utf8)))
      usleep(300_000)
      for worker in door.workers { kill(worker, SIGKILL) }
      // It sleeps until its time is over.
      let answer = client.answer()
      #expect(answer == "stream: Sluice.misbehave.timed-out FOUND", "\(answer ?? "")")
      #expect(try door.verdict(Array("round \(round)\n".utf8)) == "stream: OK")
    }
    #expect(door.served.stop() == 0)
  }

  private static let sleeping = """
    version: 1
    stages:
      - use: misbehave
        timeout: 1s
        on-timeout: reject
    """

  private func plugins() throws -> [String: String] { ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()] }

  @Test func oneThatCrashesItsWorkersIsFound() throws {
    let door = try ClamdDoor(
      folder, judging: "version: 1\nstages: [{ use: misbehave }]\n", environment: try plugins())
    let neighbours = try (0..<20).map { _ in try begin(door) }
    let crash = try ClamdClient(door.path)
    crash.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(Array("misbehave segfault\n".utf8)))
    for neighbour in neighbours { neighbour.send([0, 0, 0, 0]) }
    #expect(crash.answer() == "stream: Sluice.misbehave.crashed FOUND")
    for neighbour in neighbours { #expect(neighbour.answer() == "2: stream: OK") }
    #expect(door.served.stop() == 0)
  }

  /// Sixty contents in one, each of which takes 200 ms, in two workers.
  @Test func aContentOfWhichMuchIsTakenOutHoldsUpNoOtherForLong() throws {
    let script = """
      import zipfile
      with zipfile.ZipFile('many.zip', 'w') as archive:
        for number in range(60):
          archive.writestr('%d.txt' % number, 'misbehave rest %d\\n' % number)
      """
    try #require(FixtureStages.run("/usr/bin/env", ["-C", folder.path, "python3", "-c", script]) == 0)
    let stages = "version: 1\nworkers: 2\nstages: [{ use: archive }, { use: misbehave }]\n"
    let door = try ClamdDoor(folder, judging: stages, environment: try plugins())
    let many = try ClamdClient(door.path)
    many.send(
      Array("zINSTREAM\0".utf8)
        + ClamdClient.chunks(Array(try Data(contentsOf: URL(filePath: folder.path + "/many.zip")))))
    usleep(1_000_000)
    #expect(try door.verdict(text) == "stream: OK")
    #expect(!many.hasAnswer, "its contents take several seconds")
    #expect(many.answer() == "stream: OK")
    #expect(door.served.stop() == 0)
  }

  @Test func manySessionsAtOnceAreAllAnswered() throws {
    let door = try ClamdDoor(folder)
    var files = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    files.rlim_cur = files.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    let clients = try (0..<(Soak.isOn ? 1000 : 300)).map { _ in try ClamdClient(door.path) }
    for (index, client) in clients.enumerated() {
      client.send(
        Array("zIDSESSION\0zINSTREAM\0".utf8) + ClamdClient.chunks(Array("client \(index)\n".utf8))
          + Array("zPING\0zINSTREAM\0".utf8)
          + ClamdClient.chunks(ClamdDoorTests.image + [UInt8(index & 0xFF)])
          + Array("zEND\0".utf8))
    }
    let expected: Set = ["1: stream: OK", "2: PONG", "3: stream: Sluice.mime.type-not-allowed FOUND"]
    for client in clients {
      #expect(Set((client.rest() ?? "").split(separator: "\0").map(String.init)) == expected)
    }
    #expect(door.served.stop() == 0)
  }

  /// It has all the connections that there may be, and does nothing with them; and another that never listens.
  @Test func whatClientsMakeItKeepIsBounded() throws {
    let door = try ClamdDoor(folder)
    let deaf = try ClamdClient(door.path)
    deaf.send("zIDSESSION\0")
    let flood = Array(String(repeating: "zVERSIONCOMMANDS\0", count: 4000).utf8)
    var (sent, misses) = (0, 0)
    // Until it takes nothing for a second. A command goes on where the kernel took a part of it.
    while sent < 64 << 20 && misses < 10 {
      let start = sent % flood.count
      let count = flood.withUnsafeBytes {
        send(
          deaf.socket, $0.baseAddress.map { $0 + start }, $0.count - start,
          Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if count > 0 { (sent, misses) = (sent + count, 0) } else { misses += 1 }
      if count <= 0 { usleep(100_000) }
    }
    #expect(sent < 8 << 20, "\(sent) bytes of commands were read without their answers")
    #expect(try door.verdict(text) == "stream: OK")
    let status = try String(contentsOfFile: "/proc/\(door.keeper)/status", encoding: .utf8)
    let memory = try #require(status.firstMatch(of: /VmRSS:\s+([0-9]+) kB/).flatMap { Int($0.1) })
    #expect(memory < 64 << 10, "\(memory) KiB")
    #expect(door.served.stop() == 0)
  }

  /// As clamd does it: what comes after it is lost, and what came before is not.
  @Test func aSessionWithAContentThatIsTooLongHasTheAnswersOfThoseBefore() throws {
    let door = try ClamdDoor(folder, judging: Self.sleeping, environment: try plugins())
    for sendsNoMore in [false, true] {
      let client = try ClamdClient(door.path)
      client.send(
        Array("zIDSESSION\0zINSTREAM\0".utf8) + ClamdClient.chunks(Array("misbehave sleep\n".utf8))
          + Array("zINSTREAM\0".utf8)
          + ClamdClient.chunks([UInt8](repeating: 0, count: 2 << 20), by: [65_536]))
      if sendsNoMore { client.end() }
      #expect(client.answer() == "2: INSTREAM size limit exceeded. ERROR")
      #expect(client.rest() == "1: stream: Sluice.misbehave.timed-out FOUND\0")
    }
    #expect(door.served.stop() == 0)
  }

  /// A stop waits for some seconds.
  @Test(arguments: ["error", "found"]) func aCheckThatTakesLongerThanAStopIsToldSo(unknown: String) throws {
    let judging = Self.sleeping.replacing("timeout: 1s", with: "timeout: 60s")
    let door = try ClamdDoor(
      folder, judging: judging, "max-size: 1MB, unknown: \(unknown)", environment: try plugins())
    let client = try ClamdClient(door.path)
    client.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(Array("misbehave sleep\n".utf8)))
    usleep(500_000)
    kill(door.served.coordinator, SIGTERM)
    #expect(
      client.rest()
        == "stream: Sluice.check.stopped" + (unknown == "found" ? " FOUND\0" : ": not decided. ERROR\0"))
    #expect(door.served.stop(0) == 0)
  }

  @Test func aCheckUnderWayIsAnsweredBeforeItEnds() throws {
    let door = try ClamdDoor(folder, judging: Self.sleeping, environment: try plugins())
    let client = try ClamdClient(door.path)
    client.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(Array("misbehave sleep\n".utf8)))
    let idle = try ClamdClient(door.path)
    usleep(300_000)
    let began = Date()
    kill(door.served.coordinator, SIGTERM)
    #expect(client.rest() == "stream: Sluice.misbehave.timed-out FOUND\0")
    #expect(idle.rest() == "")
    #expect(door.served.stop(0) == 0)
    #expect(Date().timeIntervalSince(began) < 100)
    #expect(throws: ClamdClient.Failure.self) { try ClamdClient(door.path) }
  }

  /// Its threads give memory back meanwhile: glibc opens a file before it shrinks an arena of a thread, which the sandbox forbids.
  @Test func contentsOfManySmallChunksEndNoProcess() throws {
    let door = try ClamdDoor(folder, "max-size: 2MB, unknown: error")
    let keeper = door.keeper
    let content = [UInt8](repeating: UInt8(ascii: "a"), count: 100_000)
    let bytes =
      Array("zIDSESSION\0".utf8)
      + Array(
        repeating: Array("zINSTREAM\0".utf8) + ClamdClient.chunks(content, by: [1, 2, 3]), count: 4
      ).joined() + Array("zEND\0".utf8)
    for _ in 0..<(Soak.isOn ? 40 : 2) {
      let clients = try (0..<8).map { _ in try ClamdClient(door.path) }
      let threads = DispatchGroup()
      for client in clients {
        DispatchQueue.global().async(group: threads) { client.send(bytes) }
      }
      threads.wait()
      for client in clients {
        let answers = (client.rest() ?? "").split(separator: "\0")
        #expect(answers.count == 4 && answers.allSatisfy { $0.hasSuffix("stream: OK") }, "\(answers)")
      }
      #expect(door.keeper == keeper, "\(door.served.errors)")
    }
    #expect(door.served.stop() == 0)
  }

  /// The file system of each answers everything but reads. Their clients are told after a minute.
  @Test(.enabled(if: HungFile.isPossible, Comment(rawValue: HungFile.skipped)))
  func filesThatHangHoldUpNoOther() throws {
    let door = try ClamdDoor(folder)
    let file = try HungFile(folder.path + "/hung")
    let hanging = try (0..<3).map { _ in
      let client = try ClamdClient(door.path)
      client.send("zFILDES\0")
      client.pass(file.descriptor)
      return client
    }
    try Resident.wait("all are being read") { file.reads >= hanging.count }
    let clean = open(try folder.write("a.txt", Data(text)), O_RDONLY | O_CLOEXEC)
    defer { close(clean) }
    for _ in 0..<10 {
      #expect(try door.verdict(file: clean) == "fd: OK")
      #expect(try door.verdict(text) == "stream: OK")
    }
    if Soak.isOn {
      for client in hanging {
        sluice_limit_receiving(client.socket, 90_000)
        #expect(client.answer()?.hasSuffix("the file could not be read in 60 s. ERROR") == true)
      }
    }
    func files() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/\(door.keeper)/fd").count
    }
    let before = try files()
    file.end()
    // Each has its file, the copy of it and its connection.
    try Resident.wait("what they held is closed") { try files() <= before - hanging.count }
    #expect(door.served.stop() == 0)
  }

  // MARK: Files that are wrong

  @Test(arguments: [
    ("{ listen: unix:/x, pipeline: judge.yaml }", "a door of 'clamd' lacks 'unknown'"),
    ("{ pipeline: judge.yaml, unknown: error }", "a door of 'clamd' lacks 'listen'"),
    ("{ listen: localhost, unknown: error }", "'localhost' is no address for a door of 'clamd'"),
    ("{ listen: systemd, unknown: error }", "'systemd' is no address for a door of 'clamd'"),
    ("{ listen: unix:/x, unknown: ok }", "error"),
    ("{ listen: unix:/x, unknown: error, max-size: 0B }", "max-size"),
    ("{ listen: unix:/x, unknown: error, maxsize: 1MB }", "did you mean 'max-size'?"),
    ("{ listen: unix:/x, unknown: error }, { listen: unix:/x, unknown: found }", "two doors listen at"),
    ("{ listen: unix:/x, unknown: error, pipeline: nowhere.yaml }", "nowhere.yaml"),
    ("{ listen: unix:/x, unknown: error, pipeline: faulty.yaml }", "faulty.yaml:2:"),
    ("{ listen: unix:/x, unknown: error, pipeline: loop.yaml }", "asks unix:/x, which is a door of"),
    ("{ listen: unix:/tmp/..//x, unknown: error, pipeline: loop.yaml }", "asks unix:/x, which is a door of"),
    (
      "{ listen: unix:/x, unknown: error, pipeline: stores.yaml }",
      "stores.yaml:2:17: nothing in this pipeline judges"
    ),
    (
      "{ listen: unix:/x, unknown: error, pipeline: writes.yaml }",
      "writes.yaml:2:32: 'text' may write new content"
    ),
    ("{ listen: 127.0.0.1:3310, unknown: error, pipeline: tcp.yaml }", "asks tcp:localhost:3310, which is"),
    ("{ listen: 0.0.0.0:3310, unknown: error, pipeline: tcp.yaml }", "asks tcp:localhost:3310, which is"),
  ])
  func aWrongDoorIsToldByLint(doors: String, expected: String) throws {
    try folder.write("judge.yaml", ClamdDoor.judging)
    try folder.write("faulty.yaml", "version: 1\nstages: [{ use: mimee }]\n")
    try folder.write("stores.yaml", "version: 1\nstages: [{ use: store, options: { path: \"{sha256}\" } }]\n")
    try folder.write("writes.yaml", "version: 1\nstages: [{ use: mime }, { use: text }, { use: size }]\n")
    for (name, address) in [("loop", "unix:/x"), ("tcp", "tcp:localhost:3310")] {
      try folder.write(
        "\(name).yaml", "version: 1\nstages: [{ use: scan, options: { address: \"\(address)\" } }]\n")
    }
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: { clamd: [\(doors)] }\n")
    let linted = try SluiceCommand.run(["lint"], in: folder)
    #expect(linted.status == 78 && linted.err.contains(expected), "\(linted.err)")
    let started = try SluiceCommand.run(["serve", "--listen", "127.0.0.1:0"], in: folder)
    #expect(started.status == 78 && started.err.contains(expected), "\(started.err)")
  }
}
