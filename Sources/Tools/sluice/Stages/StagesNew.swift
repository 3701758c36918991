import Glibc
import Pipeline
import Platform
import Workers

/// `sluice stages new`: creates a folder with a working example stage that builds, checks and tests.
struct StagesNew: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages new", abstract: "Write a folder with a new stage in it.", arguments: "NAME",
    discussion: """
      The folder NAME gets the stage's source with an option, its cases with a fixture, a pipeline that uses it, and
      a README that says how to build, check, test and run it. In python and shell there is nothing to build.
      """,
    options: [
      CommandOption(
        name: "language", value: "swift|c|python|shell", help: "What to write it in; else swift.",
        choices: StageLanguage.allCases.map(\.rawValue)),
      CommandOption(
        name: "capability", value: "content|store|network",
        help: "What a stage of the line may touch; else content.",
        choices: StageDescription.Capability.allCases.map(\.name)),
      CommandOption(
        name: "role", value: "line|end|channel|source", help: "Where it stands in a pipeline; else line.",
        choices: StageKind.roles),
      CommandOption(
        name: "share", value: "DIR",
        help: "Where the templates and the kit are; else share/sluice of the installation."),
    ],
    example: "sluice stages new virus-list --language c --capability network")

  private let arguments: ParsedArguments
  private let name: StageName
  private let kind: StageKind
  private let language: StageLanguage

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard let word = arguments.words.first, arguments.words.count == 1 else {
      throw .usage("`sluice stages new` needs one NAME, such as virus-list")
    }
    self.arguments = arguments
    name = try StageName(word)
    kind = try StageKind(role: arguments.value("role"), capability: arguments.value("capability"))
    language = arguments.value("language").flatMap(StageLanguage.init) ?? .swift
    if language.isProgram && kind != .content {
      throw .usage(
        "a stage in \(language.rawValue) is one of the line with capability content; leave --role and --capability out, or "
          + "write it in swift or c")
    }
  }

  func run() throws -> ExitCode {
    // A plugin of this name in one of the usual folders would be found first, or hidden by the new one.
    if let file = try PluginSearch(named: [], environment: Environment.variables).file(of: name.id) {
      throw CommandError.usage(
        "'\(name.id)' is a stage that there is already, \(Terminal.printable(file)); give another NAME")
    }
    let share = try share()
    var template = StageTemplate(name, share: share)
    template.plugin = language.plugin(name)
    template.plugins = language.plugins
    template.checked = kind.link.map { " --link \($0)" } ?? ""
    template.reference = try template.text(
      "shared/\(language.isProgram ? "program" : "\(kind)")/reference.md")
    let files = language.files(name, kind)
    let texts = try files.map { ($0.to, try template.text($0.from)) }
    try write(texts)
    Terminal.out("\(name.id): \(files.map(\.to).sorted().joined(separator: ", "))\n\n")
    Terminal.out("Next:\n  cd \(name.id)\n")
    let plugin = template.plugin.contains("/") ? template.plugin : "./\(template.plugin)"
    let steps = [
      language.build, "sluice stages check \(plugin) --docs README.md\(template.checked)", "sluice test .",
      kind == .source
        ? "sluice fetch --config pipeline.yaml https://lines.example/1000"
        : "sluice ingest --config pipeline.yaml FILE",
    ]
    for line in steps.compactMap(\.self) { Terminal.out("  \(line)\n") }
    return .success
  }

  private func share() throws -> String {
    let search = try PluginSearch(named: [], environment: [:])
    let share =
      try arguments.value("share").map { try Self.absolute($0) } ?? search.folders[0] + "/../../share/sluice"
    guard let path = realpath(share, nil) else {
      throw CommandError(
        .configuration,
        "there are no templates in \(share); `make install PREFIX=…` puts them in place, or name their folder with --share"
      )
    }
    defer { free(path) }
    return String(cString: path)
  }

  private static func absolute(_ path: String) throws(CommandError) -> String {
    guard let full = realpath(path, nil) else {
      throw .usage(
        "\(Terminal.printable(path)): \(String(cString: strerror(errno))); run it where a folder can be made")
    }
    defer { free(full) }
    return String(cString: full)
  }

  private func write(_ texts: [(String, String)]) throws {
    if mkdir(name.id, 0o755) != 0 {
      if errno == EEXIST {
        let place = try Self.absolute(".") + "/" + name.id
        throw CommandError.usage(
          "\(Terminal.printable(place)) is there already, and is left as it is; give another NAME, or delete it first"
        )
      }
      throw CommandError.usage(
        "making the folder \(name.id): \(String(cString: strerror(errno))); run it where a folder can be made"
      )
    }
    for (path, text) in texts {
      if let slash = path.lastIndex(of: "/") { mkdir("\(name.id)/\(path[..<slash])", 0o755) }
      let file = try Descriptor.open("\(name.id)/\(path)", O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
      let bytes = Array(text.utf8)
      guard Glibc.write(file.number, bytes, bytes.count) == bytes.count else {
        throw CommandError(
          .internalError,
          "writing \(name.id)/\(path): \(String(cString: strerror(errno))); take \(name.id) away, and run again"
        )
      }
    }
  }
}
