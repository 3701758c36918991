import Glibc
import Platform

/// One oddity in the surroundings of a command.
enum Oddity: Sendable {
  /// A resource limit, as prlimit(1) takes it.
  case limit(name: String, value: UInt64)
  case input(StandardInput)
  case output(StandardOutput)
  case error(StandardError)
  case home(OddHome)
  case user(Standing)
  /// `nil`: it is missing.
  case variable(name: String, value: String?)
  /// Signals whose disposition is inherited as ignored.
  case ignored([String])
  /// A signal sent this many milliseconds after the start.
  case signal(Int32, after: Int)
  /// The working folder is deleted while the command runs.
  case goneFolder

  enum StandardInput: String, CaseIterable, Sendable {
    case closed, folder, writeOnly
  }

  enum StandardOutput: String, CaseIterable, Sendable {
    case closed, full, folder, readOnly, closedPipe
  }

  enum StandardError: String, CaseIterable, Sendable {
    case closed, full, readOnly, closedPipe
  }

  /// Who runs the command, and who owns the files.
  enum Standing: String, CaseIterable, Sendable {
    case ordinary = "an ordinary user with files of their own"
    case stranger = "an ordinary user among files of root"
    case guest = "an ordinary user among files of root that all may read"
    case rootAmongOthers = "root among files of an ordinary user"

    var isRoot: Bool { self == .rootAmongOthers }
  }

  // MARK: Drawing

  /// An environment has at most one oddity of a family.
  enum Family: CaseIterable {
    case limit, input, output, error, descriptors, home, user, variable, ignored, signal, goneFolder
  }

  static func drawn(_ family: Family, _ random: inout SplitMix) -> [Oddity] {
    switch family {
    case .limit: return [limit(&random)]
    case .input: return [.input(one(StandardInput.allCases, &random))]
    case .output: return [.output(one(StandardOutput.allCases, &random))]
    case .error: return [.error(one(StandardError.allCases, &random))]
    case .descriptors:
      // Each combination of closed descriptors.
      let bits = Int.random(in: 1...7, using: &random)
      return [Oddity.input(.closed), .output(.closed), .error(.closed)].enumerated().filter {
        bits >> $0.offset & 1 == 1
      }.map(\.element)
    case .home: return [.home(one(OddHome.allCases, &random))]
    case .user: return [.user(one(Standing.allCases, &random))]
    case .variable: return variables(&random)
    case .ignored:
      let names = ["PIPE", "XFSZ", "TERM", "INT", "HUP", "CHLD", "USR1", "ALRM"]
      return [.ignored((0..<Int.random(in: 1...3, using: &random)).map { _ in one(names, &random) })]
    case .signal:
      return [
        .signal(
          one([SIGTERM, SIGINT, SIGHUP, SIGPIPE], &random), after: Int.random(in: 0...600, using: &random))
      ]
    case .goneFolder: return [.goneFolder]
    }
  }

  static func one<T>(_ choices: [T], _ random: inout SplitMix) -> T {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }

  private static func limit(_ random: inout SplitMix) -> Oddity {
    let kibi: UInt64 = 1 << 10
    let mebi: UInt64 = 1 << 20
    let limits: [(String, [UInt64])] = [
      ("fsize", [0, 512, 8 * 512, 100 * 512, mebi]),
      ("nofile", [3, 4, 5, 8, 16, 32, 64, 128]),
      ("as", [64 * mebi, 128 * mebi, 256 * mebi, 512 * mebi, 1024 * mebi, 4096 * mebi]),
      ("cpu", [1]),
      ("stack", [64 * kibi, 256 * kibi, mebi, 64 * mebi]),
      ("nproc", [0, 1, 3, 10, 40]),
      ("core", [0]),
      ("memlock", [0, 64 * kibi]),
    ]
    // The limits that commands meet most often are drawn most often.
    let (name, values) = limits[one([0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 5, 6, 7], &random)]
    return .limit(name: name, value: one(values, &random))
  }

  private static func variables(_ random: inout SplitMix) -> [Oddity] {
    let long = String(repeating: "x", count: 100_000)
    let choices: [(String, String?)] = [
      ("LANG", nil), ("LANG", "xx_YY.nonsense"), ("LC_ALL", "de_DE.ISO-8859-1"), ("LC_ALL", ""),
      ("TZ", "Mars/Olympus"), ("TZ", ":/etc/passwd"), ("TZ", ""), ("TERM", nil), ("TERM", "\u{1B}[2J"),
      ("NO_COLOR", "1"), ("HOME", nil), ("HOME", "/nowhere"), ("PATH", nil), ("PATH", ""),
      ("TMPDIR", "nowhere/at/all"), ("TMPDIR", "/dev/null"), ("TMPDIR", ""), ("TMPDIR", long),
      ("SLUICE_HOME", "in/a.txt"), ("SLUICE_HOME", "nowhere\nat\u{1B}[2Jall"), ("SLUICE_HOME", long),
      ("SLUICE_PLUGIN_PATH", "nowhere:/dev/null:in/a.txt::odd-plugins:" + long),
      ("SLUICE_PLUGIN_PATH", "odd-plugins"), ("SLUICE_PLUGIN_PATH", ":"), ("SLUICE_PLUGIN_PATH", "\u{1B}[2J"),
      ("MALLOC_ARENA_MAX", "nonsense"), ("LD_BIND_NOW", "1"), ("=", "nothing"), ("SLUICE_SOCKET", long),
    ]
    let (name, value) = one(choices, &random)
    if name == "=" { return (0..<12).map { .variable(name: "HUGE_\($0)", value: long) } }
    return [.variable(name: name, value: value)]
  }

  // MARK: Telling

  var description: String {
    switch self {
    case .limit(let name, let value): return "limit \(name) = \(value)"
    case .input(let input): return "standard input: \(input.rawValue)"
    case .output(let output): return "standard output: \(output.rawValue)"
    case .error(let error): return "standard error: \(error.rawValue)"
    case .home(let home): return "home: \(home.rawValue)"
    case .user(let standing): return "user: \(standing.rawValue)"
    case .variable(let name, let value):
      guard let value else { return "no $\(name)" }
      return "\(name)=\(PrintableText.of(String(value.prefix(60))))\(value.utf8.count > 60 ? "…" : "")"
    case .ignored(let signals): return "ignored signals: \(signals.joined(separator: ", "))"
    case .signal(let number, let after): return "signal \(number) after \(after) ms"
    case .goneFolder: return "the working folder is deleted"
    }
  }
}
