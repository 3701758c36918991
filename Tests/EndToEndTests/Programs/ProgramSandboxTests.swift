import Foundation
import Testing

/// Ways out of a program's sandbox, tried in Python, from the program and from what it starts: none succeeds. Without a sandbox
/// the same ways lead out.
@Suite(.serialized)
struct ProgramSandboxTests {
  static let users: [UInt32?] = geteuid() == 0 ? [nil, User.ordinary] : [nil]

  @Test(arguments: [1, 8], users)
  func noWayLeadsOut(processes: Int, user: UInt32?) throws {
    let ways = ProgramEscape.all + (processes > 1 ? ProgramEscape.ofChildren : [])
    let world = try ProgramWorld(ways, processes: processes, user: user)
    let said = try world.said(sandbox: "require")
    for way in ways {
      let result = try #require(said[way.name], "\(way.name)")
      #expect(way.refusals.contains(result), "\(way.name): \(result)")
    }
    #expect(world.effects() == [])
  }

  @Test(.enabled(if: geteuid() == 0)) func withoutASandboxTheWaysLeadOut() throws {
    let ways = (ProgramEscape.all + ProgramEscape.ofChildren).filter(\.leadsOut)
    let world = try ProgramWorld(ways, processes: 8, user: nil)
    let said = try world.said(sandbox: "off")
    let name = (world.inbox.folder.path as NSString).lastPathComponent + "-made"
    for folder in ["/tmp", "/dev/shm"] { unlink("\(folder)/\(name)") }
    let out = ways.filter { said[$0.name] == "done" }
    // A kernel, a container or the namespace of its processes closes some.
    #expect(out.count * 10 >= ways.count * 7, "\(said)")
  }

  /// The kernel's view of the program, while it has an attachment in hand.
  @Test(arguments: [1, 8], users)
  func aProgramHasNoRightsThatItDoesNotNeed(processes: Int, user: UInt32?) throws {
    let world = try ProgramWorld([], processes: processes, user: user)
    try world.inbox.add("wait", "time.sleep(60)")
    let process = try world.start(sandbox: "require")
    defer { kill(process.processIdentifier, SIGKILL) }
    let script = world.inbox.folder.path + "/stages/acts"
    var standing: [String: String] = [:]
    for _ in 0..<2000 where standing["Seccomp"] != "2" {
      usleep(5000)
      guard let pid = ProgramWorld.programs(in: script).first else { continue }
      standing = ProgramWorld.status(of: pid)
    }
    #expect(standing["NoNewPrivs"] == "1")
    #expect(standing["Seccomp"] == "2")
    for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
      #expect(standing[set] == "0000000000000000", "\(set)")
    }
    let number = user ?? (geteuid() == 0 ? 65534 : geteuid())
    #expect(standing["Uid"]?.split(separator: "\t").allSatisfy { $0 == "\(number)" } == true)
    if user == nil && geteuid() == 0 { #expect(standing["Groups"] == "") }
    #expect(standing["NSpid"]?.split(separator: "\t").count == (processes > 1 ? 2 : 1))
  }

  /// The keeper is the first process of its namespace: signals from within do nothing to it.
  @Test func theKeeperCannotBeEndedFromWithin() throws {
    let inbox = try ActsProgram.inbox(
      processes: 8, settings: ActsProgram.rejecting, more: "workers: 1")
    try inbox.add(
      "a",
      """
      for number in range(1, 65):
          try: os.kill(1, number)
          except OSError: pass
      child(lambda: time.sleep(500))
      say(verdict='pass')
      """)
    try inbox.add("b", "say(annotate={'acts.number': os.getppid() + 100}, verdict='pass')")
    let run = try inbox.run()
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    #expect(try run.record("b").metadata["acts.number"] == 101)
    try inbox.checkWhole(run)
  }

  /// What lies beside its folder can be read where `reads` names it, and not otherwise.
  @Test(arguments: [false, true])
  func otherFilesAreReadOnlyIfTheyAreNamed(isNamed: Bool) throws {
    let folder = try TemporaryFolder()
    let list = try folder.write("lists/names", "ann\n")
    try ActsProgram.write(to: folder, more: isNamed ? "reads: [../../lists]" : "")
    try folder.write("file", "open('\(list)').read(); say(verdict='pass')")
    let outcome = try SluiceCommand.run(["stages", "run", "./stages/acts", "file"], in: folder)
    #expect((outcome.status == 0) == isNamed, "\(outcome.out)\(outcome.err)")
    if isNamed { return }
    #expect((outcome.out + outcome.err).contains("Permission denied"))
    #expect((outcome.out + outcome.err).contains("what 'reads' in stage.yaml names"))
  }

  @Test func aPathThatIsToBeReadAndIsNotThereIsTold() throws {
    let folder = try TemporaryFolder()
    try ActsProgram.write(to: folder, more: "reads: [../../lits]")
    try folder.write("file", "say(verdict='pass')")
    let outcome = try SluiceCommand.run(["stages", "run", "./stages/acts", "file"], in: folder)
    #expect(outcome.status == 78)
    #expect(
      outcome.err.contains("a path under 'reads' ('../../lits') cannot be opened: No such file"),
      "\(outcome.err)")
  }
}

/// What a program must not reach.
struct ProgramWorld {
  let inbox: Inbox
  private let ways: [ProgramEscape]
  private let user: UInt32?
  private let listeners: Listeners
  private let canary: Canary

  init(_ ways: [ProgramEscape], processes: Int, user: UInt32?) throws {
    (self.ways, self.user) = (ways, user)
    inbox = try ActsProgram.inbox(processes: processes, settings: ActsProgram.rejecting)
    let folder = inbox.folder
    try folder.write("secret", "the secret\n")
    try folder.write("out/mine", "untouched\n")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/link", withDestinationPath: folder.path + "/secret")
    listeners = try Listeners(in: folder.path)
    if let user {
      _ = try FixtureStages.run("/usr/bin/chown", ["-R", "\(user):\(user)", folder.path])
    }
    canary = try Canary(user: user, in: folder.path, environment: [:])
    for way in ways {
      let act = way.act.split(separator: "\n").map { "    \($0)\n" }.joined()
      try inbox.add(
        way.name,
        """
        import errno, fcntl, resource
        made = os.path.basename('\(folder.path)') + '-made'
        world, canary, tcp, abstract = '\(folder.path)', \(canary.pid), \(listeners.tcp), '\(listeners.abstract)'
        result = 'done'
        try:
        \(act)except socket.gaierror: result = 'gaierror'
        except OSError as error: result = errno.errorcode.get(error.errno, str(error))
        except Exception as error: result = type(error).__name__
        say(annotate={'acts.text': result}, verdict='pass')

        """)
    }
  }

  func start(sandbox: String) throws -> Process {
    let folder = inbox.folder
    var text = try folder.read("pipeline.yaml")
    text += "\nsandbox: \(sandbox)\n"
    try folder.write("pipeline.yaml", text)
    let program = user == nil ? SluiceCommand.folder : try Installation.shared().prefix + "/lib/sluice"
    let words = ["ingest", "--format", "json", "--home", "home", "--participants", "ann", "in"]
    let command = User.command(user, [program + "/sluice"] + words)
    return try SluiceCommand.start(
      Array(command.dropFirst()), in: folder, out: folder.path + "/.out", err: folder.path + "/.err",
      environment: ["TOKEN": "the secret"], program: command[0])
  }

  /// What each way led to: `done`, or an error's name.
  func said(sandbox: String) throws -> [String: String] {
    let process = try start(sandbox: sandbox)
    process.waitUntilExit()
    let outcome = SluiceCommand.Outcome(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
      out: try inbox.folder.read(".out"), err: try inbox.folder.read(".err"))
    #expect(!outcome.wasKilled, "\(outcome.err)")
    var said: [String: String] = [:]
    for record in outcome.attachments {
      said[record.fileName] = record.metadata["acts.text"]?.asText ?? record.message
    }
    return said
  }

  /// What changed outside.
  func effects() -> [String] {
    var effects: [String] = []
    if (try? inbox.folder.read("out/mine")) != "untouched\n" { effects.append("a file is changed") }
    if (try? inbox.folder.read("stages/acts/acts.py")) != ActsProgram.source {
      effects.append("the program is changed")
    }
    if (try? FileManager.default.contentsOfDirectory(atPath: inbox.folder.path + "/out")) != ["mine"] {
      effects.append("files are made")
    }
    let name = (inbox.folder.path as NSString).lastPathComponent + "-made"
    for path in ["/tmp/\(name)", "/dev/shm/\(name)", inbox.folder.path + "/stages/acts/made"]
    where FileManager.default.fileExists(atPath: path) { effects.append("\(path) is made") }
    effects += listeners.heard().map { "heard: \($0)" }
    effects += ((try? canary.report()) ?? ["no report"]).map { "canary: \($0)" }
    return effects
  }

  /// The programs that run in a folder.
  static func programs(in folder: String) -> [Int32] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return entries.compactMap { Int32($0) }.filter { pid in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")) == folder
        && (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8))?.hasPrefix("python3") == true
    }
  }

  static func status(of pid: Int32) -> [String: String] {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    var values: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 {
        values[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces)
      }
    }
    return values
  }
}
