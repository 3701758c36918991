import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// `sluice stages doctor`: each file in the folders that are searched, and whether it loads.
struct StagesDoctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages doctor", abstract: "Tell for each plugin's file whether it loads, or why not.",
    arguments: "[FILE…]",
    discussion: """
      Every file ending in .so in the folders that are searched, or each FILE, is loaded in a process of its own, so
      that one that crashes or hangs harms nobody. For one that does not load the loader's error, the missing symbol
      or the contract's version is told, with what to do. Of a program its stage.yaml is read, and its command looked
      for. The exit code is 1 if a file does not load.
      """,
    options: [.config, .trust, .format, .noColor],
    example: "sluice stages doctor ./libsluice-greeting.so")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let search = try Environment.search(arguments)
    var diagnoses: [PluginDiagnosis] = []
    if arguments.words.isEmpty {
      for folder in search.folders {
        let files = search.files(in: folder)
        if !arguments.isJSON && files.isEmpty {
          Terminal.out(
            "\(Terminal.printable(folder)): \(access(folder, R_OK) == 0 ? "no plugins" : "not there")\n")
        }
        diagnoses += files.map { PluginDiagnosis($0, search) }
      }
    } else {
      for word in arguments.words {
        let isFile = word.hasSuffix(".so")
        diagnoses.append(PluginDiagnosis(try isFile ? word : ChosenStage.plugin(word, search).file, search))
      }
    }
    let style = Style(arguments)
    for diagnosis in diagnoses { Terminal.out(arguments.isJSON ? diagnosis.json : diagnosis.text(style)) }
    return diagnoses.contains { $0.problem != nil } ? .incomplete : .success
  }
}

/// One plugin's file, and the result of loading it.
struct PluginDiagnosis {
  let file: String
  let id: String
  let stage: StageDescription?
  let problem: String?
  let remedy: String?
  /// Another file of the same id that is found first.
  let shadow: String?
  private let facts: PluginFile?

  init(_ file: String, _ search: PluginSearch) {
    self.file = file
    id = PluginSearch.id(ofFile: file)
    facts = PluginFile(file)
    let first = search.file(of: id)
    shadow = first.flatMap {
      search.folders.contains(Self.folder(of: file))
        && FileIdentity.text(of: $0) != FileIdentity.text(of: file) ? $0 : nil
    }
    // dlopen(3) would look up a name without a folder among the system's libraries.
    switch search.describe([(id, file.contains("/") ? file : "./\(file)")])[id] {
    case .success(let found)?: (stage, problem, remedy) = (found, nil, nil)
    case .failure(let refusal)?:
      stage = nil
      let prefix = "\(file): "
      let text =
        refusal.message.hasPrefix(prefix) ? String(refusal.message.dropFirst(prefix.count)) : refusal.message
      let isProgram = ProgramFile.isOne(file)
      problem = facts == nil && !isProgram ? "is no 64-bit ELF file; \(text)" : text
      remedy = isProgram ? nil : Self.remedy(text, isLibrary: facts != nil)
    case nil: (stage, problem, remedy) = (nil, "was not answered for", nil)
    }
  }

  private static func folder(of file: String) -> String {
    file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
  }

  /// What to do about a plugin that does not load for this reason; `nil`: the reason says it.
  static func remedy(_ text: String, isLibrary: Bool) -> String? {
    if !isLibrary { return "is it a shared library for this machine?" }
    if text.contains("libswift") && text.contains("cannot open shared object") {
      return "build it with -static-stdlib, or with the Swift that sluice was built with"
    }
    if text.contains("cannot open shared object") {
      return "install the library that is missing; `ldd FILE` lists them all"
    }
    if text.contains("undefined symbol") {
      return text.contains("$s")
        ? "it was built with another Swift: build it with -static-stdlib, or with the Swift of sluice"
        : "link the library that has the symbol"
    }
    if text.contains("' has type ") {
      return "give the option one of the types of stage.h; with a newer contract it needs a newer sluice"
    }
    if text.contains("exports no function") {
      return
        "export it, and name the file libsluice-ID.so after the stage's id; `nm -D FILE` shows what it exports"
    }
    return nil
  }

  func text(_ style: Style) -> String {
    let word = style.word(problem == nil ? "ok" : "wrong", width: 5)
    var text = "\(word)  \(Terminal.printable(file))\n"
    func line(_ name: String, _ value: String) {
      text += "       \(Help.pad(name, 10))\(Terminal.printable(value))\n"
    }
    if let stage { line("stage", "\(stage.id) \(stage.version), ABI \(stage.abi), \(stage.capability.name)") }
    if let problem { line("problem", problem) }
    if let remedy { line("to do", remedy) }
    if let shadow { line("hidden", "\(shadow) is found before it") }
    if problem != nil, let compilers = facts?.compilers, !compilers.isEmpty {
      line("made with", compilers.joined(separator: ", "))
    }
    return text
  }

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "plugin")
      writer.member("id", id)
      writer.member("file", file)
      writer.member("version", stage?.version)
      writer.member("stageABI", stage?.abi)
      writer.member("problem", problem)
      writer.member("remedy", remedy)
      writer.member("hiddenBy", shadow)
      writer.key("compilers")
      writer.array { writer in for compiler in facts?.compilers ?? [] { writer.value(compiler) } }
    }
    return writer.text + "\n"
  }
}
