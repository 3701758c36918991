import Foundation
import Platform

/// A command and its surroundings, drawn from a seed.
struct OddEnvironment: Sendable {
  let seed: UInt64
  var command: OddCommand
  var oddities: [Oddity]

  init(seed: UInt64) {
    self.seed = seed
    var random = SplitMix(state: seed &* 0x2545_F491_4F6C_DD1D)
    command = OddCommand.drawn(&random)
    var families = Oddity.Family.allCases
    if !command.takesHome { families.removeAll { $0 == .home } }
    oddities = []
    // Most environments have one oddity, so that a failure has one cause; some have several.
    for _ in 0..<Oddity.one([1, 1, 1, 1, 2, 2, 2, 3, 4], &random) {
      // Half of all oddities concern the home, if the command has one.
      let takesHome = families.contains { $0 == .home } && Int.random(in: 0..<2, using: &random) == 0
      let family = takesHome ? Oddity.Family.home : Oddity.one(families, &random)
      families.removeAll { $0 == family }
      let streams: [Oddity.Family] = [.input, .output, .error, .descriptors]
      if streams.contains(family) {
        // Each descriptor may be odd beside other oddities, but all descriptors together count as one family.
        families.removeAll { $0 == .descriptors || family == .descriptors && streams.contains($0) }
      }
      oddities += Oddity.drawn(family, &random)
    }
    for number in command.words.indices where command.words[number] == "ID" { usesID.append(number) }
    addUser(&random)
    if command.isResident && signal == nil {
      // It works until it is told to stop.
      let after = Int.random(in: 50...900, using: &random)
      oddities.append(.signal(Oddity.one([SIGTERM, SIGTERM, SIGINT], &random), after: after))
    }
    if command.isResident, !Set(ignored).isDisjoint(with: ["TERM", "INT"]) {
      // Before the command reads its signals, ignored ones are lost, and nothing else would end it.
      let others = ignored.filter { $0 != "TERM" && $0 != "INT" }
      oddities.removeAll { if case .ignored = $0 { true } else { false } }
      if !others.isEmpty { oddities.append(.ignored(others)) }
    }
  }

  /// A command without any oddity.
  init(plain command: OddCommand) {
    seed = 0
    self.command = command
    oddities = command.isResident ? [.signal(SIGTERM, after: 900)] : []
    for number in command.words.indices where command.words[number] == "ID" { usesID.append(number) }
  }

  private(set) var usesID: [Int] = []

  private mutating func addUser(_ random: inout SplitMix) {
    let isNeeded =
      home?.needsOrdinaryUser == true || limit("nproc") != nil
      || oddities.contains {
        // An empty path refers to `/`, where root may write.
        if case .variable("SLUICE_HOME", _) = $0 { true } else { false }
      }
    if let standing {
      if !isNeeded || !standing.isRoot { return }
      oddities.removeAll { if case .user = $0 { true } else { false } }
    } else if !isNeeded {
      return
    }
    oddities.append(.user(.ordinary))
  }

  // MARK: The drawn environment

  var home: OddHome? { oddities.lazy.compactMap { if case .home(let home) = $0 { home } else { nil } }.first }

  var standing: Oddity.Standing? {
    oddities.lazy.compactMap { if case .user(let standing) = $0 { standing } else { nil } }.first
  }

  var input: Oddity.StandardInput? {
    oddities.lazy.compactMap { if case .input(let input) = $0 { input } else { nil } }.first
  }

  var output: Oddity.StandardOutput? {
    oddities.lazy.compactMap { if case .output(let output) = $0 { output } else { nil } }.first
  }

  var error: Oddity.StandardError? {
    oddities.lazy.compactMap { if case .error(let error) = $0 { error } else { nil } }.first
  }

  var signal: (number: Int32, after: Int)? {
    oddities.lazy.compactMap { if case .signal(let number, let after) = $0 { (number, after) } else { nil } }
      .first
  }

  /// The signals to send, in order; at the end, those that stop a command which runs until told to stop.
  var signals: [(number: Int32, after: Int)] {
    guard let signal else { return [] }
    let ends = [SIGTERM, SIGINT].contains(signal.number)
    return !command.isResident || ends ? [signal] : [signal, (SIGTERM, signal.after + 600)]
  }

  var ignored: [String] {
    oddities.flatMap { if case .ignored(let names) = $0 { names } else { [String]() } }
  }

  var isFolderGone: Bool { oddities.contains { if case .goneFolder = $0 { true } else { false } } }

  func limit(_ name: String) -> UInt64? {
    oddities.lazy.compactMap { if case .limit(name, let value) = $0 { value } else { nil } }.first
  }

  private var hasManyVariables: Bool { oddities.contains { $0.description.hasPrefix("HUGE_") } }

  var setsHome: Bool {
    oddities.contains { if case .variable("SLUICE_HOME", _) = $0 { true } else { false } }
  }

  /// Whether this process has the rights that some oddities need.
  var isPossible: Bool {
    if home == .fullDisk && !SmallDisk.isPossible { return false }
    return geteuid() == 0 || (standing == nil || standing == .ordinary) && limit("nproc") == nil
  }

  /// The user who runs the command: a separate one, so that a limit on processes does not count others.
  var user: UInt32? {
    guard geteuid() == 0, let standing, !standing.isRoot else { return nil }
    return User.ordinary + 1 + UInt32(seed % 1000)
  }

  var description: String {
    var texts = oddities.map(\.description)
    if hasManyVariables { texts = texts.filter { !$0.hasPrefix("HUGE_") } + ["a megabyte of variables"] }
    return "environment \(seed): \(texts.isEmpty ? "nothing odd" : texts.joined(separator: "; "))"
  }

  // MARK: As a shell runs it

  /// The command for a shell, in a folder made for it.
  func script(_ folder: TemporaryFolder, _ scene: OddScene) -> String {
    var words = command.words
    for number in usesID { words[number] = scene.id }
    if command.takesHome && !setsHome && !words.contains("--home") {
      words += ["--home", home?.path ?? "home"]
    }
    var script = "cd \(Self.quoted(folder.path)) && "
    if isFolderGone { script += "cd working && rmdir ../working && " }
    script += "exec env -i "
    for name in ignored { script += "--ignore-signal=\(name) " }
    script += variables(folder).map { Self.quoted("\($0.key)=\($0.value)") }.sorted().joined(separator: " ")
    script += " " + User.command(user, []).map(Self.quoted).joined(separator: " ")
    var limits: [String] = []
    for case .limit(let name, let value) in oddities { limits.append("--\(name)=\(value)") }
    if !limits.isEmpty { script += " /usr/bin/prlimit \(limits.joined(separator: " ")) --" }
    script += " \(scene.program) " + words.map(Self.quoted).joined(separator: " ")
    return script + redirections(folder)
  }

  private func variables(_ folder: TemporaryFolder) -> [String: String] {
    var variables = [
      "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": folder.path + "/tmp", "HOME": folder.path,
    ]
    for case .variable(let name, let value) in oddities { variables[name] = value }
    return variables
  }

  private func redirections(_ folder: TemporaryFolder) -> String {
    let file = Self.quoted(folder.path + "/in/a.txt")
    let folder = Self.quoted(folder.path)
    var text = ""
    switch error {
    case .closed: text += " 2>&-"
    case .full: text += " 2>/dev/full"
    case .readOnly: text += " 2<\(file)"
    case .closedPipe, nil: break
    }
    switch output {
    case .closed: text += " >&-"
    case .full: text += " >/dev/full"
    case .folder: text += " 1<\(folder)"
    case .readOnly: text += " 1<\(file)"
    case .closedPipe, nil: break
    }
    switch input {
    case .closed: text += " <&-"
    case .folder: text += " <\(folder)"
    case .writeOnly: text += " 0>/dev/null"
    case nil: break
    }
    return text
  }

  static func quoted(_ word: String) -> String {
    let plain = word.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
        || UInt8(ascii: "+")...UInt8(ascii: ":") ~= byte || byte == UInt8(ascii: "_")
    }
    return plain && !word.isEmpty ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
