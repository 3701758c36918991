import Foundation
import Testing

/// Clients of a coordinator that misbehave: each harms only itself.
@Suite(.serialized)
struct ControlSocketTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for number in 0..<3 { try folder.write("in/\(number).txt", "text \(number)\n") }
  }

  private var socket: String { folder.path + "/home/sluice.sock" }

  private func enqueue() throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["enqueue", "--home", "home", "in"], in: folder)
  }

  @Test func aFileThatCannotBeIsRefusedAndTheCoordinatorGoesOn() throws {
    let resident = try Resident(folder)
    let client = try RawClient(socket)
    client.send(RawClient.enqueue(conversation: "", path: "/in/a"))
    client.send(RawClient.enqueue(conversation: "c", path: "relative"))
    let answers = client.received(within: 2)
    #expect(answers.contains("'conversationId' has 0 bytes where 1 to 256 are allowed"), "\(answers)")
    #expect(answers.contains("its path is not an absolute path"), "\(answers)")
    #expect(try enqueue().status == 0)
    try resident.wait(for: 3)
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  @Test func whatIsNoMessageIsAnsweredWithTheReason() throws {
    let resident = try Resident(folder)
    for bytes: [UInt8] in [
      [9, 0, 0, 0] + Array(repeating: 7, count: 9), [255, 255, 255, 255], [5, 0, 0, 0, 32, 0, 0, 0, 0],
    ] {
      let client = try RawClient(socket)
      client.send(bytes)
      #expect(client.received(within: 3).contains("what it was sent is no message"))
    }
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  @Test func aClientThatAsksOnAndOnIsSentAwayAndTheRestGoesOn() throws {
    let resident = try Resident(folder)
    // What the workers do, asked a thousand times at once. A coordinator that happens to answer each in time sends nobody away.
    try Resident.wait("a client is sent away") {
      let client = try RawClient(socket)
      client.send(Array(repeating: [2, 0, 0, 0, 36, 0], count: 1000).flatMap { $0 })
      return client.received(within: 1).contains("it asks again before it has its answer")
    }
    let longer = try RawClient(socket)
    longer.send([3, 0, 0, 0, 36, 0, 0])
    #expect(longer.received(within: 3).contains("what it was sent is no message"))
    #expect(try enqueue().status == 0)
    try resident.wait(for: 3)
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  @Test func clientsThatSayNothingKeepNobodyOut() throws {
    let resident = try Resident(folder)
    let idle = try (0..<128).map { _ in try RawClient(socket) }
    // One of them has begun a message, and does not finish it.
    idle[7].send([200, 0, 0, 0, 32])
    usleep(1_200_000)
    let before = Date()
    let outcome = try enqueue()
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(Date().timeIntervalSince(before) < 60)
    try resident.wait(for: 3)
    #expect(resident.stop() == 0, "\(resident.errors)")
    #expect(idle.count == 128)
  }

  @Test func aCoordinatorThatIsStoppedIsNotWaitedForForEver() throws {
    let resident = try Resident(folder)
    // The queue of waiting connections is full: the next client waits for a place in it.
    try Resident.suspend(resident.process.processIdentifier)
    defer { kill(resident.process.processIdentifier, SIGCONT) }
    let clients = (0..<200).compactMap { _ in try? Self.knock(socket) }
    defer { for client in clients { close(client) } }
    let before = Date()
    let outcome = try enqueue()
    #expect(outcome.status == 75, "\(outcome.err)")
    #expect(Date().timeIntervalSince(before) < 200)
    #expect(outcome.err.contains("it may be stopped"), "\(outcome.err)")
  }

  /// The kernel accepts the connection, and the coordinator does not. Nothing has been acknowledged yet, so
  /// the client waits for a shorter time than for an answer.
  @Test func aClientThatIsNotWelcomedSaysSoInTime() throws {
    let resident = try Resident(folder)
    try Resident.suspend(resident.process.processIdentifier)
    let before = Date()
    let outcome = try enqueue()
    #expect(outcome.status == 75, "\(outcome.err)")
    #expect(Date().timeIntervalSince(before) < 200)
    #expect(outcome.err.contains("lets nobody in"), "\(outcome.err)")
    kill(resident.process.processIdentifier, SIGCONT)
    #expect(try enqueue().status == 0)
    #expect(resident.stop() == 0, "\(resident.errors)")
  }

  /// Connects without waiting.
  private static func knock(_ path: String) throws -> Int32 {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if connected == 0 { return socket }
    close(socket)
    throw POSIXError(.EAGAIN)
  }

  // MARK: The home

  @Test(arguments: ["deleted", "moved", "lock"]) func aHomeThatIsTakenAwayEndsTheCoordinatorWithAWord(
    how: String
  ) throws {
    let resident = try Resident(folder)
    // Before it is at work, a home that is gone is another fault.
    try folder.write("first/a.txt", "text\n")
    let enqueued = try SluiceCommand.run(["enqueue", "--home", "home", "first"], in: folder)
    try #require(enqueued.status == 0, "\(enqueued.err)")
    try resident.wait(for: 1)
    let home = folder.path + "/home"
    switch how {
    case "deleted": try FileManager.default.removeItem(atPath: home)
    case "moved": try FileManager.default.moveItem(atPath: home, toPath: home + "-elsewhere")
    default: try FileManager.default.removeItem(atPath: home + "/sluice.lock")
    }
    let end = Date().addingTimeInterval(10)
    while resident.process.isRunning && Date() < end { usleep(20_000) }
    #expect(!resident.process.isRunning, "it does not work on for nothing")
    #expect(resident.stop() == 75)
    #expect(
      resident.errors.contains("home was deleted, moved or replaced while it was worked on"),
      "\(resident.errors)")
  }

  @Test(.enabled(if: geteuid() == 0)) func whoMayNotReadTheLockIsToldSo() throws {
    #expect(try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder).status == 0)
    for path in ["", "/home", "/home/sluice.db"] { chmod(folder.path + path, 0o755) }
    chmod(folder.path + "/home/sluice.lock", 0o600)
    for name in ["sluice.db-wal", "sluice.db-shm"] { chmod(folder.path + "/home/" + name, 0o666) }
    let words = User.command(
      User.ordinary, [try Installation.shared().prefix + "/bin/sluice", "status", "--home", "home"])
    let outcome = try SluiceCommand.run(Array(words.dropFirst()), in: folder, program: words[0])
    #expect(
      outcome.out.contains(
        "whether a coordinator is at work is not known: opening home/sluice.lock: Permission denied"),
      "\(outcome.out) \(outcome.err)")
    #expect(!outcome.out.contains("no coordinator is running"))
  }

  // MARK: Errors in options that only stages detect

  static let refused = [
    ("allow-private: true", "write `channels: { hook: { options: { allow-private: [\"127.0.0.1\"] } } }`"),
    ("secrets: whsec_x", "is not base64"),
    ("url: \"gopher://x\"", "channel 'hook'"),
  ]

  @Test(arguments: refused) func lintTellsWhatAStageRefusesAndNothingIsQueuedForIt(
    option: String, saying: String
  ) throws {
    var options = [
      "url": "url: \"http://127.0.0.1:9/\"", "secrets": "secrets: \"\(WebhookTests.secret)\"",
      "allow-private": "allow-private: 127.0.0.1",
    ]
    options[String(option.prefix { $0 != ":" })] = option
    let hook = "\n  hook: { use: webhook, options: { \(options.values.sorted().joined(separator: ", ")) } }\n"
    let lines = Pipelines.open.split(separator: "\n", omittingEmptySubsequences: false)
    let retry = lines.last.map(String.init) ?? ""
    try folder.write("pipeline.yaml", lines.dropLast().joined(separator: "\n") + hook + retry)
    let lint = try SluiceCommand.run(["lint"], in: folder)
    #expect(lint.status == 78 && lint.err.contains(saying), "\(lint.out) \(lint.err)")
    let ingest = try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder)
    #expect(ingest.status == 78 && ingest.err.contains(saying), "\(ingest.err)")
    let listed = try SluiceCommand.run(["list", "--home", "home"], in: folder)
    #expect(listed.out.isEmpty, "nothing was queued: \(listed.out)")
  }

  // MARK: The end

  @Test func whatIsStillInHandIsToldWhenASignalComes() throws {
    let receiver = try WebhookReceiver([.status(204)], pause: 3_000_000)
    let hook = """

        hook: { use: webhook, options: { url: "\(receiver.url)", secrets: "\(WebhookTests.secret)", allow-private: 127.0.0.1 } }
      """
    try folder.write(
      "pipeline.yaml",
      Pipelines.open.replacingOccurrences(of: "channels: [events]", with: "channels: [hook]")
        .replacingOccurrences(of: "channels:\n", with: "channels:" + hook + "\n"))
    let resident = try Resident(folder)
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--sender", "ann", "--participants", "ann,ben", "in"], in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    try resident.wait(for: 3)
    usleep(300_000)
    kill(resident.process.processIdentifier, SIGTERM)
    try Resident.wait("it says what is in hand", seconds: 2) { resident.errors.contains("stopping: ") }
    #expect(resident.errors.contains("in hand (hook) have 20 s to end"), "\(resident.errors)")
    #expect(resident.errors.contains("a second signal ends it at once and loses nothing"))
    resident.process.waitUntilExit()
    #expect(resident.process.terminationStatus == 0, "\(resident.errors)")
  }
}
