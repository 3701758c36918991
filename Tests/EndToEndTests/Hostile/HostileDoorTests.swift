import Foundation
import FrontWire
import Glibc
import Testing
import Wire

/// The process that answers clients of ClamAV's daemon is taken over. It can lie to its clients; the coordinator takes no harm.
@Suite(.serialized)
struct HostileDoorTests {
  private let folder: TemporaryFolder
  private let server: HostileServer

  init() throws {
    (folder, server) = (try TemporaryFolder(), try HostileServer())
    try folder.write(
      "judge.yaml", "version: 1\nstages: [{ use: misbehave, timeout: 1s, on-timeout: pass }]\n")
    try folder.write(
      "serve.yaml",
      Pipelines.open
        + "\nserve: { clamd: [{ listen: \"unix:\(folder.path)/clamd.sock\", pipeline: judge.yaml, unknown: error }] }\n"
    )
  }

  private func serve() throws -> ServedHome {
    let served = try ServedHome(
      folder, options: ["--config", "serve.yaml"],
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()], program: server.program)
    try Resident.wait("the door's process is there") { server.doorLives > 0 }
    return served
  }

  /// Has a content judged; then its file is changed by `meddle`.
  private func judge(_ serial: UInt64, _ text: String, meddle: (Int32) -> Void = { _ in }) throws -> String {
    server.send(.asked(serial: serial, door: 0, peer: "user 0"))
    while true {
      let (message, file) = try server.receiveOfDoor()
      switch message {
      case .take(serial, _):
        let file = try #require(file)
        defer { close(file) }
        try #require(write(file, text, text.utf8.count) == text.utf8.count)
        server.send(.taken(serial: serial, .whole))
        meddle(file)
      case .answer(serial, let answer):
        server.send(.left(serial: serial))
        return answer
      default: break
      }
    }
  }

  @Test func contentThatItChangesAfterwardsHasNoVerdict() throws {
    let served = try serve()
    #expect(try judge(1, "a text\n") == "OK")
    // While the stage sleeps, and at the end of its sleep, whatever becomes of the file.
    var serial: UInt64 = 2
    for meddle in [
      { (file: Int32) in _ = pwrite(file, "A", 1, 0) }, { _ = ftruncate($0, 3) }, { _ = ftruncate($0, 1000) },
    ] {
      let answer = try judge(serial, "misbehave sleep\n") { file in
        usleep(300_000)
        meddle(file)
      }
      #expect(answer.hasSuffix("not decided. ERROR"), "\(answer)")
      serial += 1
    }
    #expect(try judge(serial, "misbehave segfault\n") == "Sluice.misbehave.crashed FOUND")
    #expect(try judge(serial + 1, "a text\n") == "OK")
    #expect(server.doorLives == 1)
    _ = served.stop(SIGKILL)
  }

  /// Clients that leave while their content is let in give its place back: there are 64 of them.
  @Test func whatLeavesAtOnceGivesItsPlaceBack() throws {
    let served = try serve()
    for serial in 1...UInt64(Soak.isOn ? 100_000 : 3000) {
      server.send(.asked(serial: serial, door: 0, peer: "user 0"))
      server.send(.left(serial: serial))
      if serial % 16 == 0 { try drain() }
    }
    try drain()
    #expect(try judge(1 << 40, "a text\n") == "OK")
    // Those that wait go on once others have left, in any order.
    for serial in 1...200 { server.send(.asked(serial: 1 << 50 + UInt64(serial), door: 0, peer: "user 0")) }
    for serial in (1...200).reversed() { server.send(.left(serial: 1 << 50 + UInt64(serial))) }
    try drain()
    #expect(try judge(1 << 41, "a text\n") == "OK")
    #expect(server.doorLives == 1, "\(served.errors)")
    _ = served.stop(SIGKILL)
  }

  /// Takes what the coordinator has said so far.
  private func drain() throws {
    while server.hasNewsOfDoor {
      if let file = try server.receiveOfDoor().file { close(file) }
    }
  }

  @Test func oneThatSaysWhatItMayNotIsEnded() throws {
    let served = try serve()
    var tries = 0
    func expectEnd(_ what: String, _ body: () -> Void) throws {
      tries += 1
      let lives = server.doorLives
      body()
      try Resident.wait("it is ended: \(what)", seconds: 10) { server.doorLives > lives }
    }
    try expectEnd("a frame that is none") { server.send(toDoor: [0xFF, 1, 2]) }
    try expectEnd("a frame that ends early") { server.send(toDoor: [Frame.Kind.asked.rawValue, 1]) }
    try expectEnd("a frame of another's") { server.send(toDoor: ToDoor.answer(serial: 1, "OK").frame) }
    try expectEnd("a door that is none") { server.send(.asked(serial: 1, door: 7, peer: "user 0")) }
    try expectEnd("a content twice") {
      server.send(.asked(serial: 1, door: 0, peer: "user 0"))
      server.send(.asked(serial: 1, door: 0, peer: "user 0"))
    }
    try expectEnd("a content that was never asked for") { server.send(.taken(serial: 5, .whole)) }
    try expectEnd("a content before it may come") {
      for serial in 1...100 { server.send(.asked(serial: UInt64(serial), door: 0, peer: "user 0")) }
      server.send(.taken(serial: 100, .whole))
    }
    try expectEnd("the end of nothing") { server.send(.left(serial: 9)) }
    try expectEnd("more contents than there may be") {
      let lives = server.doorLives
      for serial in 1...40_000 where server.doorLives == lives {
        server.send(.asked(serial: UInt64(serial), door: 0, peer: "user 0"))
      }
    }
    #expect(try judge(1, "a text\n") == "OK")
    Soak.row("frames that the process of a clamd door may not send", tries: tries, failures: 0)
    _ = served.stop(SIGKILL)
  }
}
