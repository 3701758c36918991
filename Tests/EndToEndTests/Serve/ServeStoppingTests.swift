import Foundation
import Glibc
import Testing

/// `sluice serve` after SIGTERM and SIGHUP, while a stage is at work.
@Suite(.serialized)
struct ServeStoppingTests {
  private let inbox: Inbox
  private let systemd: NotifySocket

  init() throws { (inbox, systemd) = (try Inbox(), try NotifySocket()) }

  /// - Parameter act: the stage does this with the one attachment.
  private func served(_ act: String) throws -> ServedHome {
    try inbox.pipeline("timeout: 5m")
    try inbox.add("slow", "misbehave \(act)\n")
    let served = try ServedHome(
      inbox.folder, options: ["--config", "pipeline.yaml"],
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder(), "NOTIFY_SOCKET": systemd.place])
    #expect(try SluiceCommand.run(["enqueue", "--home", "home", "in"], in: inbox.folder).status == 0)
    try inbox.waitForWork()
    return served
  }

  @Test func whoConnectsIsRefusedAndStreamsEnd() throws {
    let served = try served("sleep")
    let admin = try served.token("ops", "--role", "admin")
    let stream = try SluiceCommand.start(
      ["-sN", "-H", "Authorization: Bearer \(admin)", "http://127.0.0.1:\(served.port)/v1/events"],
      in: inbox.folder, out: inbox.folder.path + "/stream", err: inbox.folder.path + "/stream.err",
      program: "/usr/bin/curl")
    try Resident.wait("the stream has begun") { try inbox.folder.read("stream").contains("event: start") }
    kill(served.coordinator, SIGTERM)
    try Resident.wait("connections are refused") {
      guard let socket = try? served.connected() else { return true }
      close(socket)
      return false
    }
    stream.waitUntilExit()
    let leased = try inbox.ledger("SELECT count(*) FROM jobs WHERE state = 'leased'")
    #expect(leased == "1", "the attachment is still in hand: \(served.errors)")
    #expect(systemd.heard().contains("STOPPING=1"))
    #expect(served.stop() == 128 + SIGTERM, "the second signal ends it")
  }

  @Test func whoReadsItsPipelineAgainDoesNotSayThatItEnds() throws {
    let served = try served("dawdle")
    try served.reload()
    try Resident.wait("it has ended") { try inbox.ledger("SELECT count(*) FROM jobs") == "0" }
    let heard = systemd.heard()
    #expect(heard.contains("READY=1") && !heard.contains("STOPPING=1"), "\(heard)")
    #expect(served.stop() == 0, "\(served.errors)")
  }
}
