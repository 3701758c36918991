import Foundation
import Testing

/// Downloads over a real line between two hosts: routes that go and come back, hosts that do not answer.
@Suite(.serialized, .enabled(if: TwoHosts.isPossible, Comment(rawValue: TwoHosts.skipped)))
struct NetworkTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func write(hosts: Int, attempts: Int) throws {
    let addresses = (1...hosts + 1).map(TwoHosts.address).joined(separator: ", ")
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      lanes:
        downloads:
          use: http
          min-free: 1MB
          retry: { attempts: \(attempts), backoff: 100ms, max: 1s }
          options: { allow-private: [\(addresses)], connect-timeout: 2s }
      stages:
        - use: mime
        - use: store
          options: { path: "{sha256}" }
      """)
  }

  private func enqueue(_ links: [(host: Int, path: String)]) throws {
    let lines = links.map { link in
      """
      {"url":"http://\(TwoHosts.address(link.host)):\(TwoHosts.port)/\(link.path)","conversationId":"c",\
      "messageId":"\(link.host) \(link.path)","senderId":"ann","fileName":"\(link.path)"}
      """
    }
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--manifest", "-"], in: folder, input: lines.joined(separator: "\n"))
    #expect(outcome.status == 0, "\(outcome.err)")
  }

  private func listed() throws -> [Printed.Attachment] {
    try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder)
      .records(Printed.Attachment.self)
  }

  /// Waits until so many have ended, and expects them all to be completed.
  private func wait(for count: Int, _ what: String) throws {
    try Resident.wait(what) { try listed().count { $0.status != "queued" } >= count }
    let others = try listed().filter { $0.status != "completed" && $0.status != "queued" }
    #expect(others.isEmpty, "\(others.map { "\($0.reason?.code ?? ""): \($0.reason?.message ?? "")" })")
  }

  @Test func aRouteThatGoesCostsNoAttemptAndIsUsedWhenItIsBack() throws {
    // One attempt: whatever counted would be the last.
    try write(hosts: 2, attempts: 1)
    let (flaps, size) = Soak.isOn ? (100, 1_000_000) : (6, 40_000)
    let names = (1...(Soak.isOn ? 110 : 40)).map { "f\($0)" }
    let first = names.count - 10
    for (index, name) in names.enumerated() {
      // What comes behind the last return of the route is small: the server notes a request when it has answered it.
      let count = (index < first ? size : 40_000) / name.count
      try folder.write("served/\(name)", String(repeating: name, count: count))
    }
    let hosts = try TwoHosts(folder, hosts: 2, rate: 400_000)
    let coordinator = try hosts.startCoordinator()
    defer { kill(coordinator.processIdentifier, SIGKILL) }
    try enqueue(names.prefix(first).enumerated().map { ($0.offset % 2 + 1, $0.element) })
    for _ in 1...flaps {
      usleep(100_000)
      try hosts.deleteRoute()
      usleep(150_000)
      try hosts.addRoute()
    }
    try wait(for: first, "\(first) came through")
    try hosts.deleteRoute()
    try enqueue(names.suffix(10).map { (1, $0) })
    var status = ""
    try Resident.wait("the lane says that it is offline") {
      status = try SluiceCommand.run(["status", "--home", "home"], in: folder).out
      return status.contains("offline")
    }
    #expect(status.contains("downloads"), "\(status)")
    // The program tries less and less often; the return of the route is what counts.
    sleep(4)
    let before = Date().timeIntervalSince1970
    try hosts.addRoute()
    try wait(for: names.count, "all came")
    let request = try #require(try hosts.requests().first { $0.time >= before })
    #expect(
      request.time - before < (Soak.isOn ? 1 : 1.5),
      "the first request came \(request.time - before) s after the route")
    #expect(try hosts.requests().count { $0.status == "200" } >= names.count)
    if Soak.isOn {
      Soak.row("the route goes while \(first) links are fetched", tries: flaps, failures: 0)
    }
  }

  @Test func aHostThatAnswersNothingHoldsUpTheOthersLittle() throws {
    try write(hosts: 9, attempts: 5)
    let names = (1...4).map { "f\($0)" }
    for name in names { try folder.write("served/\(name)", String(repeating: name, count: 80_000)) }
    let hosts = try TwoHosts(folder, hosts: 9, rate: 100_000)
    let coordinator = try hosts.startCoordinator()
    defer { kill(coordinator.processIdentifier, SIGKILL) }
    func seconds(_ round: String, beside dead: [(host: Int, path: String)]) throws -> Double {
      let links = names.flatMap { name in (1...9).map { (host: $0, path: "\(name)?\(round)") } }
      let before = try listed().count { $0.status == "completed" }
      let begin = Date()
      // The dead host's are the oldest.
      try enqueue(dead + links)
      try Resident.wait("those of the other hosts came") {
        try listed().count { $0.status == "completed" } == before + links.count
      }
      return Date().timeIntervalSince(begin)
    }
    let alone = try seconds("alone", beside: [])
    let beside = try seconds("beside", beside: (1...40).map { (10, "dead\($0)") })
    #expect(beside < alone * 2, "\(alone) s without it, \(beside) s with it")
  }
}
