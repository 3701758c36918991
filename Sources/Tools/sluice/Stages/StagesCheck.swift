import Configuration
import Glibc
import Pipeline
import Platform
import Wire
import Workbench
import Workers

/// `sluice stages check`: what every plugin must pass.
struct StagesCheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages check", abstract: "Check a plugin against the contract.", arguments: "STAGE [FILE…]",
    discussion: """
      STAGE is the id of a stage or a plugin's file, in whatever language it is written. It is loaded, opened with
      many options, and given content of many kinds, in workers under the sandbox; each FILE is one more content.
      For each check that fails the table says what to do, and the exit code is 1. After the first time-out the
      checks that are left are named, and not done. A channel needs a place that takes events, with --set, and a
      source links that it can fetch, with --link: its transfers are stopped, held, limited and killed.
      """,
    options: [
      CommandOption(
        name: "set", value: "NAME=VALUE",
        help: "An option of the stage; lists with commas, maps as PATTERN:VALUE; repeatable.",
        takesSeveral: true),
      CommandOption(
        name: "link", value: "URL",
        help: "For a source: a link that it can fetch, the same content each time; repeatable.",
        takesSeveral: true),
      CommandOption(
        name: "timeout", value: "DURATION",
        help: "For one content or link, such as 500ms or 30s; else 20s."),
      CommandOption(
        name: "docs", value: "FILE", help: "Its documentation; else the README.md beside it."),
      CommandOption(
        name: "only", value: "NAME[,NAME]",
        help: "These checks alone, by their names in the table; repeatable.",
        choices: CheckName.allCases.map(\.rawValue), takesSeveral: true),
      CommandOption(
        name: "fast",
        help:
          "Leave out what takes long: \(CheckName.allCases.filter(\.isSlow).map(\.rawValue).joined(separator: ", "))."
      ),
      .config, .trust, .format, .noColor,
    ],
    example: "sluice stages check ./libsluice-greeting.so --set word=hello")

  private let arguments: ParsedArguments
  private let name: String
  private let timeout: Int64
  private var selection = CheckSelection()

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard let name = arguments.words.first else {
      throw .usage("`sluice stages check` needs a STAGE: an id, or a plugin's file such as ./libsluice-x.so")
    }
    self.arguments = arguments
    self.name = name
    let text = arguments.value("timeout") ?? "20s"
    guard let limit = Interval(text), (1...3_600_000).contains(limit.milliseconds) else {
      throw .usage(
        "option '--timeout' is a duration such as 500ms, 30s or 5m, not '\(Terminal.printable(text))'")
    }
    timeout = limit.milliseconds
    selection.only = Set(arguments.values("only").compactMap { CheckName(rawValue: $0) })
    selection.isFast = arguments.flag("fast")
  }

  func run() throws -> ExitCode {
    let style = Style(arguments)
    func tell(_ check: Check) {
      Terminal.out(arguments.isJSON ? Self.json(check) : Self.text(check, style))
    }
    let chosen: ChosenStage
    let search = try Environment.search(arguments)
    switch try ChosenStage.choose(name, search) {
    case .success(let found): chosen = found
    case .failure(let refusal):
      tell(Self.check(of: refusal, try ChosenStage.plugin(name, search).file))
      return .incomplete
    }
    let conformance = try conformance(of: chosen)
    if !arguments.isJSON {
      let stage = chosen.description
      Terminal.out(Terminal.printable("\(stage.id) \(stage.version)  \(stage.file)") + "\n")
    }
    var failures = 0
    var count = 0
    try conformance.run(selection) { check in
      count += 1
      if check.isFailed { failures += 1 }
      tell(check)
    }
    if !arguments.isJSON {
      Terminal.out(
        "\n\(Count.text(count, "check")), \(failures == 0 ? "none" : String(failures)) failed\n")
    }
    return failures == 0 ? .success : .incomplete
  }

  /// The check that a plugin fails if it does not load.
  private static func check(of refusal: Refusal, _ file: String) -> Check {
    if ProgramFile.isOne(file) {
      return Check(
        name: "load", claim: "\(StageFile.name) says what the program is",
        result: .failed(refusal.message, remedy: "correct it, and check again"))
    }
    return Check(
      name: "load", claim: "the plugin loads and describes its stage",
      result: .failed(
        refusal.message,
        remedy: PluginDiagnosis.remedy(refusal.message, isLibrary: true)
          ?? "`sluice stages doctor` tells more"))
  }

  private func conformance(of chosen: ChosenStage) throws -> Conformance {
    var sound = chosen
    // The check of the description tells of a default that does not fit. The others do without it.
    let faulty = StageSettings.faultyDefaults(of: chosen.description).map(\.option)
    for index in sound.description.options.indices
    where faulty.contains(sound.description.options[index].name) {
      sound.description.options[index].fallback = nil
    }
    var stage = try sound.definition(settings: arguments.values("set"))
    stage.description = chosen.description
    stage.timeout = timeout
    let links = arguments.values("link")
    let isSource = stage.description.role == .source
    if isSource && arguments.words.count > 1 {
      throw CommandError.usage(
        "'\(stage.id)' is a source and gets no FILE; name what it is to fetch with --link URL")
    }
    if !isSource && !links.isEmpty {
      throw CommandError.usage("'\(stage.id)' is no source and fetches no --link; name a FILE for it to see")
    }
    var specimens: [Content] = []
    for file in arguments.words.dropFirst() {
      do throws(Content.Problem) {
        specimens.append(try Content(file))
      } catch {
        throw CommandError.usage("\(Terminal.printable(file)): \(error.message)")
      }
    }
    return try Conformance(
      stage, digest: chosen.digest, search: chosen.search,
      launch: Environment.launch(arguments, chosen.search), temporaryFolder: Environment.temporaryFolder,
      documentation: try documentation(chosen), specimens: specimens, links: links)
  }

  private func documentation(_ chosen: ChosenStage) throws -> String? {
    if let file = arguments.value("docs") {
      return String(decoding: try Environment.contents(of: file), as: UTF8.self)
    }
    let file = chosen.description.file
    let beside = (file.lastIndex(of: "/").map { String(file[...$0]) } ?? "") + "README.md"
    return access(beside, R_OK) == 0
      ? String(decoding: try Environment.contents(of: beside), as: UTF8.self) : nil
  }

  // MARK: What is printed

  private static func text(_ check: Check, _ style: Style) -> String {
    let word: String
    var more: [String] = []
    switch check.result {
    case .passed: word = "ok"
    case .noted(let what):
      word = "ok"
      more = ["note: \(what)"]
    case .failed(let what, let remedy):
      word = "wrong"
      more = what.split(separator: "\n").map(String.init) + ["to do: \(remedy)"]
    case .skipped(let why):
      word = "-"
      more = ["not checked: \(why)"]
    }
    let indent = String(repeating: " ", count: 24)
    return "  \(style.word(word, width: 6))  \(Help.pad(check.name, 14))\(Terminal.printable(check.claim))\n"
      + more.map { "\(indent)\(Terminal.printable($0))\n" }.joined()
  }

  private static func json(_ check: Check) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "check")
      writer.member("name", check.name)
      writer.member("claim", check.claim)
      switch check.result {
      case .passed: writer.member("result", "passed")
      case .noted(let what):
        writer.member("result", "passed")
        writer.member("message", what)
      case .failed(let what, let remedy):
        writer.member("result", "failed")
        writer.member("message", what)
        writer.member("remedy", remedy)
      case .skipped(let why):
        writer.member("result", "skipped")
        writer.member("message", why)
      }
    }
    return writer.text + "\n"
  }
}
