import Foundation
import Testing

/// What a program must not do, done beside well-behaved attachments.
@Suite(.serialized)
struct ProgramMisbehaviourTests {
  struct Act: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// In Python.
    var act: String
    /// `nil`: it is completed.
    var code: String?
    /// A part of the reason's message.
    var saying: String

    init(_ name: String, _ act: String, _ code: String?, _ saying: String = "") {
      (testDescription, self.act, self.code, self.saying) = (name, act, code, saying)
    }
  }

  static let ends = [
    Act("exits with 0", "os._exit(0)", "crashed", "the program ended with status 0"),
    Act("exits with 3", "os._exit(3)", "crashed", "the program ended with status 3"),
    Act("raises", "raise ValueError('odd')", "crashed", "status 1; it last said: "),
    Act("shows its traceback", "raise ValueError('odd')", "crashed", "ValueError: odd"),
    Act("dies by SIGSEGV", "os.kill(os.getpid(), 11)", "crashed", "SIGSEGV"),
    Act("dies by SIGKILL", "os.kill(os.getpid(), 9)", "crashed", "SIGKILL"),
    Act("dies by SIGTERM", "os.kill(os.getpid(), 15)", "crashed", "SIGTERM"),
    Act("reads address 0", "ctypes.string_at(0)", "crashed", "SIGSEGV"),
    Act("sleeps", "time.sleep(100)", "timed-out", "took more than 2s"),
    Act("computes", "while True: pass", "timed-out", "took more than 2s"),
    Act("stops itself", "os.kill(os.getpid(), signal.SIGSTOP)", "timed-out", "took more than 2s"),
    Act(
      "closes its output", "os.close(1); time.sleep(100)", "invalid-reply",
      "it closed its standard output and went on"),
    Act("closes its input and sleeps", "os.close(0); time.sleep(100)", "timed-out"),
    Act("closes its input and passes", "os.close(0); say(verdict='pass')", nil),
    Act("cuts the content", "os.ftruncate(3, 0)", "crashed", "Invalid argument"),
    Act("writes to the content", "open('/proc/self/fd/3', 'r+')", "crashed", "Permission denied"),
  ]

  static let words = [
    Act(
      "says no JSON", #"put("hello\n")"#, "invalid-reply",
      "a line that is not JSON (text for people goes to standard error, or under 'log'): hello"),
    Act("says nothing in a line", #"put("\n")"#, "invalid-reply", "a line that is not JSON"),
    Act("says an array", #"put("[]\n")"#, "invalid-reply", "an array in place of an object"),
    Act("says an unknown member", "say(verdcit='pass')", "invalid-reply", "a member 'verdcit'"),
    Act("says a wrong type", "say(progress='half')", "invalid-reply", "a text as 'progress'"),
    Act("says an unknown verdict", "say(verdict='ok')", "invalid-reply", "the verdict 'ok'"),
    Act("says a long line", #"put('"' + "x" * 100000)"#, "invalid-reply", "a line of more than 65536 bytes"),
    Act("says a long whole line", #"put('"' + "x" * 70000 + '"\n')"#, "invalid-reply", "a line of more than"),
    Act("says lines without end", "while True: say(progress=0.5)", "invalid-reply", "more than 10000 lines"),
    Act("says NUL", #"put(b'{"verdict":"pass\0"}\n')"#, "invalid-reply", "a line that is not JSON"),
    Act("says an escaped NUL", #"put('{"message":"a\\u0000"}\n')"#, "invalid-reply", "a NUL character"),
    Act("says half a line and ends", #"put('{"verdict"'); os._exit(0)"#, "crashed", "status 0"),
    Act("says half a line and sleeps", #"put('{"verdict"'); time.sleep(100)"#, "timed-out"),
    Act("says no UTF-8", #"put(b'\xff\xfe\n')"#, "invalid-reply", "a line that is not JSON"),
    Act("says no UTF-8 in a text", #"put(b'{"message":"\xff","verdict":"pass"}\n')"#, nil),
    Act("nests deeply", #"put('{"annotate":' * 50000 + '\n')"#, "invalid-reply"),
    Act(
      "says two verdicts", #"put('{"verdict":"pass"}\n{"verdict":"pass"}\n')"#, "invalid-reply",
      "it said something while it had nothing in hand"),
    Act("says two verdicts in one line", #"put('{"verdict":"pass","verdict":"reject"}\n')"#, "invalid-reply"),
    Act("is ready again", "say(ready=True)", "invalid-reply", "'ready' in place of what it says"),
    Act("refuses late", "say(refuse='no')", "invalid-reply", "'refuse' in place of what it says"),
    Act(
      "goes on when it is asked no more",
      "threading.Timer(0.3, lambda: say(log='late')).start(); say(verdict='pass')", nil),
    Act("gives a code that is none of its own", "say(verdict='reject', code='odd')", "undeclared"),
    Act("makes up a key", "say(annotate={'other.key': 1}, verdict='pass')", nil),
    Act("says control characters", #"put("\x1b[31m\n")"#, "invalid-reply", "): \u{FFFD}[31m"),
  ]

  static let budgets = [
    Act(
      "writes errors without end", "while True: sys.stderr.write('x' * 65536 + chr(10))", "flooded",
      "more than 1MB to standard error"),
    Act("wants memory", "x = bytearray(1 << 30)", "crashed", "MemoryError"),
    Act(
      "writes without end", "while True: os.write(4, b'x' * 65536)", "output-limit",
      "more than the 1MB that `output` allows"),
    Act(
      "writes without end and is ended",
      "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwhile True: os.write(4, b'x' * 65536)", "output-limit"),
    Act("makes a hole", "os.ftruncate(4, 1 << 40)", "crashed", "File too large"),
    Act("starts a process", "os.fork()", "crashed", "Operation not permitted"),
    Act("starts a program", "subprocess.run(['true'])", "crashed", "Operation not permitted"),
    Act(
      "starts threads without end",
      "threading.stack_size(65536)\nwhile True: threading.Thread(target=time.sleep, args=(100,), daemon=True).start()",
      "crashed", "can't start new thread"),
  ]

  @Test(arguments: ends + words + budgets)
  func eachMisdeedHasItsNameAndHarmsNoOther(act: Act) throws {
    try Self.expectNamed(act, try ActsProgram.inbox(settings: ActsProgram.rejecting))
  }

  private static func expectNamed(_ act: Act, _ inbox: Inbox) throws {
    try inbox.add("a", act.act)
    try inbox.addNeighbours(4)
    let run = try inbox.run()
    let record = try run.record("a")
    #expect(record.status == (act.code == nil ? "completed" : "rejected"), "\(record)")
    #expect(record.code == act.code, "\(record.message)")
    #expect(act.saying.isEmpty || record.message.contains(act.saying), "\(record.message)")
    #expect(run.neighbours.count == 4)
    #expect(run.neighbours.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  /// What it damages in itself shows at the next attachment, which by default is tried again with another.
  @Test func aProgramThatBreaksItselfTakesNoNeighbourWithIt() throws {
    let inbox = try ActsProgram.inbox(more: "workers: 1")
    try inbox.add("a", "os.close(3); os.close(4); say(verdict='pass')")
    try inbox.addNeighbours(4)
    let run = try inbox.run()
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  static let late = [
    Act("ends", "say(verdict='pass'); os._exit(0)", nil),
    Act("dies", "say(verdict='pass'); os.kill(os.getpid(), 11)", nil),
    Act("hangs", "say(verdict='pass'); time.sleep(100)", nil),
    // The next cannot reach it, whenever it comes.
    Act("closes its input", "os.close(0); say(verdict='pass'); time.sleep(100)", nil),
    Act("closes its output", "say(verdict='pass'); os.close(1); time.sleep(100)", nil),
    Act("floods", "say(verdict='pass'); sys.stderr.write('x' * 3_000_000)", nil),
  ]

  /// What a program does after its verdict is not charged to the attachment that it is told of next, whatever the remedies are.
  @Test(arguments: late) func whatComesAfterAVerdictIsNotTheNextOnes(act: Act) throws {
    let inbox = try ActsProgram.inbox(settings: ActsProgram.rejecting, more: "workers: 1")
    try inbox.add("a", act.act)
    try inbox.addNeighbours(4)
    let run = try inbox.run()
    for attachment in run.outcome.attachments where !attachment.isCompleted {
      // Its own flood may be seen before its verdict is.
      let isOwn = attachment.fileName == "a" && attachment.code == "flooded"
      #expect(isOwn && act.testDescription == "floods", "\(attachment)")
    }
    try inbox.checkWhole(run)
  }

  // MARK: Families

  /// Counts the processes of its family, itself and its keeper included.
  private static let count = """
    def count():
        # What has ended is its parent's to take: until then it has its number.
        try:
            while os.waitpid(-1, os.WNOHANG)[0]: pass
        except ChildProcessError: pass
        found = 0
        for number in range(1, 32768):
            try: os.kill(number, 0)
            except ProcessLookupError: continue
            except PermissionError: pass  # the keeper's, which has another sandbox
            found += 1
        return found
    """
  /// Counts until the number is right: the kernel takes a moment to end a killed process.
  private static func counted(_ expected: Int) -> String {
    """
    \(count)
    for _ in range(20):
        if count() == \(expected): break
        time.sleep(0.02)
    say(annotate={'acts.number': count()}, verdict='pass')
    """
  }

  static let families = [
    Act("leaves an orphan", "child(lambda: time.sleep(500)); say(verdict='pass')", nil),
    Act(
      "leaves a daemon",
      "child(lambda: (os.setsid(), child(lambda: (os.setsid(), time.sleep(500))))); say(verdict='pass')", nil),
    Act(
      "leaves one that ignores signals",
      "child(lambda: ([signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15)], time.sleep(500))); say(verdict='pass')",
      nil),
    Act("leaves a zombie", "child(lambda: None); time.sleep(0.1); say(verdict='pass')", nil),
    Act(
      "leaves a program", "subprocess.Popen(['sleep', '500'], start_new_session=True); say(verdict='pass')",
      nil),
    Act(
      "leaves a stopped one",
      "child(lambda: os.kill(os.getpid(), signal.SIGSTOP)); time.sleep(0.1); say(verdict='pass')", nil),
    Act(
      "leaves one that starts others",
      "child(lambda: [(os.fork() and os._exit(0)) for _ in iter(int, 1)]); time.sleep(0.1); say(verdict='pass')",
      nil),
  ]

  /// What it starts for an attachment is gone before the next.
  @Test(arguments: families)
  func whatIsLeftBehindIsGoneBeforeTheNextAttachment(act: Act) throws {
    let inbox = try ActsProgram.inbox(processes: 8, settings: ActsProgram.rejecting, more: "workers: 1")
    try inbox.add("a", act.act)
    try inbox.add("b", Self.counted(2))
    let run = try inbox.run()
    #expect(try run.record("a").isCompleted, "\(run.outcome.out)")
    let second = try run.record("b")
    #expect(second.metadata["acts.number"] == 2, "\(second)")
    try inbox.checkWhole(run)
  }

  @Test func whatIsStartedBeforeItIsReadyStays() throws {
    let inbox = try ActsProgram.inbox(
      processes: 8,
      settings: ["options:", "  start: \"pool = [subprocess.Popen(['sleep', '600']) for _ in range(3)]\""],
      more: "workers: 1")
    for name in ["a", "b", "c"] {
      try inbox.add(
        name,
        "subprocess.Popen(['sleep', '600'])\nassert all(one.poll() is None for one in pool)\nsay(verdict='pass')"
      )
    }
    try inbox.add("d", Self.counted(5))
    let run = try inbox.run()
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    #expect(try run.record("d").metadata["acts.number"] == 5)
    try inbox.checkWhole(run)
  }

  @Test func aForkBombIsHeldToItsNumber() throws {
    let inbox = try ActsProgram.inbox(processes: 8, settings: ActsProgram.rejecting, more: "workers: 1")
    try inbox.add(
      "a",
      """
      while True:
          try: os.fork()
          except OSError: time.sleep(0.01)
      """)
    try inbox.add(
      "b",
      """
      started = 0
      try:
          while True:
              child(lambda: time.sleep(500))
              started += 1
      except OSError: pass
      say(annotate={'acts.number': started}, verdict='pass')
      """)
    try inbox.addNeighbours(4)
    let run = try inbox.run()
    #expect(try run.record("a").code == "timed-out")
    #expect(try run.record("b").metadata["acts.number"] == 7)
    #expect(run.neighbours.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  // MARK: Kills

  enum Victim: String, CaseIterable { case worker, keeper, coordinator }

  /// A family of daemons ends with the process that asked for it, however that ends.
  @Test(arguments: Victim.allCases)
  func theFamilyEndsWithWhatIsKilled(victim: Victim) throws {
    let inbox = try ActsProgram.inbox(
      processes: 8, settings: ["timeout: 100s", "on-crash: reject"], more: "workers: 1")
    let mark = "98765.\(UInt32.random(in: 1...UInt32.max))"
    try inbox.add(
      "a",
      """
      for _ in range(3): subprocess.Popen(['sleep', '\(mark)'], start_new_session=True)
      time.sleep(90)
      """)
    let underway = try inbox.start()
    try #require(Self.waits { Self.processes(saying: mark).count >= 3 }, "they are started")
    let first = Self.processes(saying: mark)
    let pid = underway.process.processIdentifier
    let victims =
      switch victim {
      case .worker: Inbox.workers(of: pid)
      // What is started has the program as its parent, and that has the keeper.
      case .keeper: first.prefix(1).compactMap(Self.parent).compactMap(Self.parent)
      case .coordinator: [pid]
      }
    #expect(!victims.isEmpty)
    for process in victims { kill(process, SIGKILL) }
    // Another worker may try the attachment again.
    #expect(Self.waits { Set(Self.processes(saying: mark)).isDisjoint(with: first) }, "none is left")
    kill(pid, SIGKILL)
    underway.process.waitUntilExit()
    underway.recording.end()
    #expect(Self.waits { Self.processes(saying: mark).isEmpty }, "none is left")
  }

  private static func parent(of pid: Int32) -> Int32? {
    ProgramWorld.status(of: pid)["PPid"].flatMap(Int32.init)
  }

  private static func waits(until condition: () -> Bool) -> Bool {
    for _ in 0..<4000 {
      if condition() { return true }
      usleep(5000)
    }
    return false
  }

  /// Processes with a word among their arguments that holds the mark, but for Python, whose program it may be a part of.
  private static func processes(saying mark: String) -> [Int32] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return entries.compactMap { Int32($0) }.filter { pid in
      let line = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/cmdline"))) ?? Data()
      return String(decoding: line, as: UTF8.self).hasPrefix("sleep\0\(mark)")
    }
  }

  // MARK: Before it is ready

  static let openings = [
    Act(
      "says no JSON", #"put("hello\n")"#, "invalid-reply",
      "a line that is not JSON (text for people goes to standard error, or under 'log'): hello"),
    Act(
      "gives a verdict", "say(verdict='pass')", "invalid-reply",
      "'verdict' before it had an attachment in hand"),
    Act(
      "annotates", "say(annotate={'acts.number': 1})", "invalid-reply",
      "'annotate' before it had an attachment in hand"),
    Act("ends", "os._exit(0)", "crashed", "the program ended with status 0"),
    Act("raises", "raise ValueError('odd')", "crashed", "ValueError: odd"),
    Act("refuses", "say(refuse='no list'); os._exit(1)", "", "no list"),
    Act(
      "closes its output", "os.close(1); time.sleep(100)", "invalid-reply", "it closed its standard output"),
    Act("wants memory", "bytearray(1 << 40)", "crashed", "MemoryError"),
  ]

  @Test(arguments: openings)
  func aProgramThatDoesNotOpenSaysWhy(act: Act) throws {
    let folder = try TemporaryFolder()
    try ActsProgram.write(to: folder)
    try folder.write("file", "well-behaved\n")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "./stages/acts", "file", "--set", "start=\(act.act)"], in: folder)
    #expect(outcome.status != 0)
    #expect(outcome.err.contains(act.saying), "\(outcome.err)\(outcome.out)")
    #expect(act.code?.isEmpty != false || outcome.err.contains(act.code ?? ""), "\(outcome.err)")
  }
}
