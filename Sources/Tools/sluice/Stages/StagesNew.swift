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
      a README that says how to build, check, test and run it.
      """,
    options: [
      CommandOption(
        name: "language", value: "swift|c", help: "What to write it in; else swift.", choices: ["swift", "c"]),
      CommandOption(
        name: "capability", value: "content|store|network", help: "What it may touch; else content.",
        choices: StageDescription.Capability.allCases.map(\.name)),
      CommandOption(
        name: "share", value: "DIR",
        help: "Where the templates and the kit are; else share/sluice of the installation."),
    ],
    example: "sluice stages new virus-list --language c --capability network")

  private let arguments: ParsedArguments
  private let name: StageName

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard let word = arguments.words.first, arguments.words.count == 1 else {
      throw .usage("`sluice stages new` needs one NAME, such as virus-list")
    }
    self.arguments = arguments
    name = try StageName(word)
  }

  func run() throws -> ExitCode {
    // A plugin of this name beside the program would be found first, and the new one would never run.
    if let file = try PluginSearch(named: [], environment: [:]).file(of: name.id) {
      throw CommandError.usage("'\(name.id)' is a stage that there is already, \(file); give another NAME")
    }
    let share = try share()
    let language = arguments.value("language") ?? "swift"
    let capability = arguments.value("capability") ?? "content"
    var template = StageTemplate(name, share: share)
    let isSwift = language == "swift"
    template.plugin = isSwift ? ".build/release/libsluice-\(name.id).so" : "libsluice-\(name.id).so"
    template.plugins = isSwift ? ".build/release" : "."
    template.reference = try template.text("shared/\(capability)/reference.md")
    var files: [(from: String, to: String)] = [
      ("\(language)/README.md", "README.md"), ("shared/\(capability)/cases.yaml", "cases.yaml"),
      ("shared/\(capability)/pipeline.yaml", "pipeline.yaml"),
    ]
    if isSwift {
      files += [
        ("swift/Package.swift", "Package.swift"), ("swift/exports.map", "exports.map"),
        ("swift/\(capability)/Greeting.swift", "Sources/\(name.type).swift"),
      ]
    } else {
      files += [("c/Makefile", "Makefile"), ("c/\(capability)/greeting.c", "\(name.id).c")]
    }
    if capability == "content" { files.append(("shared/content/fixtures/hello.txt", "fixtures/hello.txt")) }
    let texts = try files.map { ($0.to, try template.text($0.from)) }
    try write(texts)
    Terminal.out("\(name.id): \(files.map(\.to).sorted().joined(separator: ", "))\n\n")
    Terminal.out("Next:\n  cd \(name.id)\n")
    let build = isSwift ? "swift build -c release" : "make"
    let plugin = isSwift ? template.plugin : "./\(template.plugin)"
    for line in [
      build, "sluice stages check \(plugin) --docs README.md", "sluice test .",
      "sluice ingest --config pipeline.yaml FILE",
    ] {
      Terminal.out("  \(line)\n")
    }
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
