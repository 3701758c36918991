import Foundation
import Platform
import SQLite
import Testing

/// A command run in its environment, and the rules it broke.
struct OddRun {
  let environment: OddEnvironment
  let scene: OddScene
  private(set) var faults: [String] = []
  private(set) var line = ""
  private var end: ChildProcess.End?
  private var (out, err) = ("", "")
  private var pid: Int32 = 0

  /// Every command has ended by then, whatever is asked and however little there is.
  static let seconds = 20.0
  /// After a signal, the work in hand ends; in these environments that is little.
  static let secondsAfterSignal = 8.0

  /// Reasons that are always wrong here: the installation is complete, and all calls are valid.
  private static let untrueReasons = ["is the installation whole?", "Invalid argument"]

  init(_ environment: OddEnvironment, _ scene: OddScene) {
    (self.environment, self.scene) = (environment, scene)
  }

  /// The text to print for a failure.
  var report: String {
    """
    \(environment.description)
      \(faults.joined(separator: "\n  "))
      command: \(Self.shown(line))
      ended: \(end.map { "\($0)" } ?? "not")
      standard output: \(Self.shown(out))
      standard error: \(Self.shown(err))
      again: SLUICE_ENVIRONMENT=\(environment.seed) swift test --skip-build --filter RandomEnvironment
    """
  }

  private static func shown(_ text: String) -> String {
    var lines = text.split(separator: "\n").prefix(50).map { PrintableText.of(String($0.prefix(1500))) }
    if lines.isEmpty { lines = ["nothing"] }
    return lines.joined(separator: "\n    ")
  }

  // MARK: Running

  mutating func run() throws {
    let folder = try scene.copy()
    let home = environment.home
    let before = Self.homeInRoot()
    try home?.make(in: folder)
    var disk: SmallDisk?
    if home == .fullDisk { disk = try Self.fullDisk(in: folder) }
    defer { withExtendedLifetime(disk) {} }
    try own(folder)
    home?.close(in: folder)
    let companion = try Companion(environment, scene, folder)
    line = environment.script(folder, scene)
    try start(folder, home)
    companion.end()
    if home == .closedLater { chmod(folder.path + "/home", 0o700) }
    check(folder)
    let made = Self.homeInRoot().subtracting(before)
    expect(made.isEmpty, "a home was made in /: \(made.sorted())")
  }

  /// The entries that a home at an empty path would create.
  private static func homeInRoot() -> Set<String> {
    Set(["sluice.db", "sluice.lock", "store"].filter { access("/" + $0, F_OK) == 0 })
  }

  private static func fullDisk(in folder: TemporaryFolder) throws -> SmallDisk {
    let disk = try SmallDisk(folder.path + "/disk", size: "8m")
    try #require(try FixtureStages.run("/bin/cp", ["-a", folder.path + "/home", disk.path]) == 0)
    try disk.fill("fill")
    return disk
  }

  /// Sets the owners of files.
  private func own(_ folder: TemporaryFolder) throws {
    guard geteuid() == 0, let standing = environment.standing else { return }
    switch standing {
    case .ordinary:
      let user = environment.user ?? 0
      _ = try FixtureStages.run("/usr/bin/chown", ["-hR", "\(user):\(user)", folder.path])
    case .stranger: break
    case .guest: _ = try FixtureStages.run("/usr/bin/chmod", ["-R", "a+rX", folder.path])
    case .rootAmongOthers:
      _ = try FixtureStages.run("/usr/bin/chown", ["-hR", "\(User.ordinary):\(User.ordinary)", folder.path])
    }
  }

  private mutating func start(_ folder: TemporaryFolder, _ home: OddHome?) throws {
    var closed: Set<Int32> = []
    if environment.output == .closedPipe { closed.insert(1) }
    if environment.error == .closedPipe { closed.insert(2) }
    let started = Date()
    // One argument is limited to 128 KB, and a line may be longer.
    let script = try folder.write(".script", line + "\n")
    let process = try ChildProcess(shell: ". \(script)", closed: closed)
    pid = process.pid
    var signals = environment.signals
    var limit = Self.seconds
    var meddling: Int? = 20 + Int(environment.seed % 150)
    var writer: Int32 = environment.command.usesPipe ? -1 : -2
    let hasEnded = process.wait(seconds: 60) {
      if process.end != nil { return true }
      let passed = Date().timeIntervalSince(started)
      if let (number, after) = signals.first, passed * 1000 >= Double(after) {
        process.send(number)
        signals.removeFirst()
        if [SIGTERM, SIGINT].contains(number) && environment.command.isResident {
          limit = passed + Self.secondsAfterSignal
        }
      }
      if let after = meddling, passed * 1000 >= Double(after) {
        home?.meddle(in: folder)
        meddling = nil
      }
      // Another process writes to the pipe as soon as it is read, and ends.
      if writer == -1 { writer = Self.write(to: folder.path + "/pipe") }
      return passed > limit
    }
    if process.end == nil {
      faults.append(String(format: "did not end within %.0f s", limit))
      process.kill()
    } else if !hasEnded {
      process.kill()
    } else {
      end = process.end
    }
    process.look()
    (out, err) = (process.out, process.err)
  }

  private static func write(to path: String) -> Int32 {
    let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 { return -1 }
    let text = "{\"path\":\"more/c.txt\"}\nnonsense\n"
    _ = Glibc.write(descriptor, text, text.utf8.count)
    close(descriptor)
    return -2
  }

  // MARK: Looking

  private mutating func check(_ folder: TemporaryFolder) {
    checkEnd()
    waitBriefly(2) { Inbox.workers(of: pid).isEmpty }
    expect(Inbox.workers(of: pid) == [], "a worker is left running")
    if end == nil { return }
    if case .exit = end {
      let left = folder.files(below: "tmp")
      expect(left.isEmpty, "leaves temporary files: \(left.prefix(3))")
    }
    checkHome(folder)
  }

  private mutating func checkEnd() {
    guard let end else { return }
    switch end {
    case .signal(let number):
      let isAsked = environment.signals.contains { $0.number == number }
      let isOutOfTime = environment.limit("cpu") != nil && [SIGXCPU, SIGKILL].contains(number)
      expect(isAsked || isOutOfTime || isOutOfMemory, "was ended by signal \(number)")
    case .exit(let code):
      if hasNotBegun(code) { return }
      expect([0, 1, 2, 70, 75, 78].contains(code), "ended with \(code), which is not documented")
      let isUnheard = [.closed, .full, .folder, .readOnly].contains(environment.output)
      if isUnheard && environment.command.prints {
        expect(code != 0, "ended with 0, and what it printed is lost")
      }
      for untrue in Self.untrueReasons {
        expect(!err.contains(untrue) && !out.contains(untrue), "it gives a reason that is not so: \(untrue)")
      }
      // The findings went to a pipe without a reader.
      if environment.output == .closedPipe && code == 1 && err.isEmpty { return }
      // Without arguments it prints the help and exits with 2.
      if environment.error != nil || environment.command.words.isEmpty { return }
      faults += MessageJudge.faults(of: err, code: code, output: out).map { "its message \($0)" }
    }
  }

  /// A failed allocation ends a Swift program anywhere; everything on record must survive that.
  private var isOutOfMemory: Bool {
    environment.limit("as").map { $0 < 1 << 30 } == true
      || environment.limit("stack").map { $0 < 1 << 20 } == true
  }

  /// The program that failed was the one before the command, which could not start.
  private func hasNotBegun(_ code: Int32) -> Bool {
    let isStarved = ["nofile", "as", "stack", "nproc", "fsize"].contains { environment.limit($0) != nil }
    if environment.error != nil && isStarved && [126, 127].contains(code) { return true }
    return err.contains("error while loading shared libraries") && code == 127
      || ["prlimit:", "env:", "setpriv:", "/bin/sh:"].contains(where: err.hasPrefix)
  }

  private mutating func checkHome(_ folder: TemporaryFolder) {
    let home = "\(folder.path)/\(environment.home?.path ?? "home")"
    if environment.home?.keepsLedger ?? true {
      do {
        let answer = try Connection(home + "/sluice.db").prepare("PRAGMA integrity_check").first {
          $0.text(0)
        }
        expect(answer == "ok", "the ledger is damaged: \(answer ?? "")")
      } catch {
        faults.append("the ledger is damaged: \(error)")
      }
      let lock = FileManager.default.contents(atPath: home + "/sluice.lock") ?? Data()
      expect(
        lock.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "\n") },
        "the lock holds what was to be printed: \(String(decoding: lock.prefix(100), as: UTF8.self))")
    }
    guard environment.home?.keepsStore ?? true, end != nil else { return }
    do {
      let words = [scene.program, "verify", "--home", home].map(OddEnvironment.quoted)
      let verify = try ChildProcess(shell: "cd \(folder.path) && exec \(words.joined(separator: " "))")
      let hasEnded = verify.wait(seconds: Self.seconds) { verify.end != nil }
      expect(hasEnded && verify.end == .exit(0), "the home is not whole: \(verify.out) \(verify.err)")
    } catch {
      faults.append("verify does not start: \(error)")
    }
  }

  private mutating func expect(_ holds: Bool, _ fault: @autoclosure () -> String) {
    if !holds { faults.append(fault()) }
  }
}
