import Foundation
import Glibc
import Testing

/// Clients that hold connections and do next to nothing with them. Others are answered within a second all the time.
@Suite(.serialized)
struct SlowClientTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A server, somebody's token, and the place of a content of 8 MB.
  private func serve(connections: Int, perAddress: Int) throws -> (ServedHome, token: String, long: String) {
    try folder.write(
      "serve.yaml",
      Pipelines.open
        + "\nserve: { max-size: 10MB, connections: \(connections), per-address: \(perAddress) }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("ann")
    struct Created: Decodable { var id: String }
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.bin", token: token,
      body: Data((0..<8_000_000).map { UInt8($0 % 251) })
    ).decoded(Created.self).id
    let long = "/v1/attachments/\(id)/content"
    try Resident.wait("there is a content") { try served.ask("HEAD", long, token: token).status == 200 }
    return (served, token, long)
  }

  /// Milliseconds within which others are answered.
  private static let most = Soak.isOn ? 1000 : 15_000

  /// The milliseconds until somebody else is answered; `nil`: not in time.
  private func delay(_ served: ServedHome, from source: String = "127.0.0.1") -> Int? {
    let began = Date()
    guard let connection = try? RawConnection(port: served.port, from: source) else { return nil }
    connection.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
    guard let answer = connection.answer(within: Self.most), answer.status == 200 else { return nil }
    let delay = Int(Date().timeIntervalSince(began) * 1000)
    return delay <= Self.most ? delay : nil
  }

  /// Bytes of memory of the process that speaks HTTP.
  private func memory(_ served: ServedHome) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(served.server)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) * 1024
  }

  /// One address of each kind takes all the connections that it may have, for a few seconds.
  @Test func othersAreAnsweredWhileClientsAreSlow() throws {
    let (served, token, long) = try serve(connections: 1000, perAddress: 50)
    let kinds = SlowClients.Kind.allCases
    let slow = kinds.enumerated().map { index, kind in
      SlowClients(kind, from: "127.0.0.\(index + 2)", to: served, token: token, long: long)
    }
    for clients in slow { try clients.open(50) }
    for round in 0..<(Soak.isOn ? 100 : 15) {
      for clients in slow { clients.step() }
      #expect(delay(served) != nil, "somebody else is answered, in round \(round)")
      usleep(200_000)
    }
    // Who has taken all that one address may have is told so, and waits for nothing.
    for index in kinds.indices where !Soak.isOn {
      let more = try RawConnection(port: served.port, from: "127.0.0.\(index + 2)")
      let answer = more.answer(within: Self.most)
      #expect(answer?.status == 503 && answer?.field("retry-after") == "5", "\(kinds[index])")
    }
    #expect(memory(served) < 100_000_000)
    for clients in slow { clients.close() }
    #expect(served.stop() == 0)
  }

  /// Heads that are never whole, from as many addresses as it takes to have all connections.
  @Test func halfHeadsTakeAllConnectionsAndGiveThemBack() throws {
    // Both ends of each connection are files; those of this end are this process's.
    var files = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    files.rlim_cur = files.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    let most = min(Soak.isOn ? 10_000 : 1000, Int(files.rlim_max) - 3000)
    let (perAddress, addresses) = (most / 50, 50)
    let (served, token, long) = try serve(connections: perAddress * addresses, perAddress: perAddress)
    var floods: [SlowClients] = []
    var longest = 0
    for address in 0..<addresses - 1 {
      let flood = SlowClients(.halfHead, from: "127.0.1.\(address + 1)", to: served, token: token, long: long)
      try flood.open(perAddress)
      floods.append(flood)
      let delay = delay(served)
      #expect(delay != nil, "after \(floods.count * perAddress) halves of heads")
      longest = max(longest, delay ?? 1000)
    }
    let memory = memory(served)
    // The last address takes what is left. Who comes then is told at once to come later.
    let last = SlowClients(.halfHead, from: "127.0.1.\(addresses)", to: served, token: token, long: long)
    try last.open(perAddress)
    waitBriefly(1) { delay(served) == nil }
    let turnedAway = try RawConnection(port: served.port)
    #expect(turnedAway.answer(within: Self.most)?.status == 503)
    if Soak.isOn {
      // They have 10 seconds, then 5 to read why it ends; and the clock of the deadlines ticks each second.
      let began = Date()
      waitBriefly(20) { delay(served) != nil }
      #expect(Date().timeIntervalSince(began) < 17)
      for connection in floods[0].connections {
        #expect(connection.answer(within: 3000)?.status == 408)
      }
      Soak.row("connections with half a head", tries: perAddress * addresses, failures: 0)
      print(
        "\(perAddress * addresses) halves of heads: \(longest) ms at most for others, \(memory >> 20) MiB")
    }
    for clients in floods + [last] { clients.close() }
    waitBriefly(5) { delay(served) != nil }
    #expect(delay(served) != nil, "what they had is free again")
    #expect(memory < 300_000_000)
    #expect(served.stop() == 0)
  }
}
