import Configuration
import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Wire
import Workbench
import Workers

/// What commands share: the environment, the home, the pipeline.
enum Environment {
  /// Every variable, by name.
  static let variables: [String: String] = {
    var variables: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
      }
      next += 1
    }
    return variables
  }()

  /// Where trials write their files.
  static var temporaryFolder: String { variables["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp" }

  /// How workers are started that run a single stage. They end with this process, in any case. Temporary
  /// folders must be deleted, so a signal is handled like an error.
  static func launch(_ arguments: ParsedArguments, _ search: PluginSearch) -> StageRunner.Launch {
    var launch = StageRunner.Launch(executable: search.worker)
    launch.signals = sluice_signalfd()
    launch.symbols = SymbolTool(path: variables["PATH"] ?? "/usr/bin:/bin")
    switch arguments.value("sandbox") {
    case "off": launch.sandbox = .off
    case "prefer": launch.sandbox = .prefer
    default: launch.sandbox = .require
    }
    return launch
  }

  static func home(_ arguments: ParsedArguments) -> Home {
    let path = arguments.value("home") ?? namedHome ?? usualHome
    return Home(path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path)
  }

  /// Whether the user named a home, by option or environment.
  static func namesHome(_ arguments: ParsedArguments) -> Bool {
    arguments.value("home") != nil || namedHome != nil
  }

  /// Whether a home has no ledger. If that cannot be determined, the ledger is assumed to exist.
  static func lacksLedger(_ home: Home) -> Bool {
    access(home.ledgerPath, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// The home if the user names none.
  static let usualHome = "./var"

  /// $SLUICE_HOME, unless it is empty.
  static var namedHome: String? { variables["SLUICE_HOME"].flatMap { $0.isEmpty ? nil : $0 } }

  /// The pipeline's file: the one given, or the first of the usual ones.
  ///
  /// - Parameter mayBeBuiltIn: where there is none, the one of this program will do.
  static func pipelineFile(
    _ arguments: ParsedArguments, mayBeBuiltIn: Bool = false
  ) throws(CommandError) -> String {
    if let file = arguments.value("config") ?? usualPipelineFile { return file }
    if mayBeBuiltIn { return BuiltInPipeline.name }
    throw CommandError(
      .configuration, "there is no pipeline.yaml here, and none in /etc/sluice; name one with --config FILE")
  }

  private static var usualPipelineFile: String? {
    ["pipeline.yaml", "/etc/sluice/pipeline.yaml"].first { access($0, F_OK) == 0 }
  }

  /// Where commands without a pipeline look for plugins. If there is a pipeline file, the folders it names
  /// are included.
  static func search(_ arguments: ParsedArguments) throws -> PluginSearch {
    var folders: [String] = []
    if let file = arguments.value("config") {
      folders = try document(file: file).pluginFolders
    } else if let file = usualPipelineFile {
      do {
        folders = try document(file: file).pluginFolders
      } catch let error as CommandError {
        for message in error.messages { Terminal.error(message) }
        Terminal.error("so no folders of its `plugins` are searched")
      } catch {
        Terminal.error(
          "\(file) cannot be used, so no folders of its `plugins` are searched; `sluice lint` tells more")
      }
    }
    return try PluginSearch(named: folders, environment: variables)
  }

  /// The home's ledger, opened for reading beside a coordinator. Creates nothing.
  static func ledger(reading home: Home) throws -> any LedgerMaintenance {
    if access(home.ledgerPath, F_OK) != 0 {
      try home.checkLedgerIsThere()
      throw CommandError.usage(
        errno == ENOENT || errno == ENOTDIR
          ? "\(home.path) has no ledger; `sluice ingest` makes one, or give another --home"
          : "\(home.ledgerPath): \(String(cString: strerror(errno))); give a home with a ledger, with --home")
    }
    // Opening a FIFO would block.
    var facts = stat()
    if stat(home.ledgerPath, &facts) == 0 && facts.st_mode & S_IFMT != S_IFREG {
      throw CommandError(
        .configuration, "\(home.ledgerPath) is no regular file; give a home with a ledger, with --home")
    }
    return try home.reader()
  }

  /// The stage that hashes content, part of every pipeline, from the plugins' descriptions.
  static func digest(
    _ described: [String: Result<StageDescription, Refusal>]
  ) throws(CommandError) -> StageDescription {
    switch described["digest"] {
    case .success(let digest): return digest
    case .failure(let refusal):
      throw CommandError(.configuration, "stage 'digest': \(refusal.message); `sluice doctor` tells more")
    case nil:
      throw CommandError(
        .configuration, "the stage 'digest' is not beside this program; is the installation whole?")
    }
  }

  private static func document(file: String) throws -> PipelineDocument {
    try PipelineDocument.parse(try contents(of: file), file: file, environment: variables) { @Sendable path in
      Result { () throws(ProtectedFile.Problem) in
        try ProtectedFile.read(path, limit: PipelineDocument.secretLimit, rule: .secret)
      }
    }
  }

  /// Where the keys lie, as the pipeline says; without one, in the home.
  static func secretRules(_ arguments: ParsedArguments) throws -> SecretRules {
    if let file = arguments.value("config") { return try document(file: file).secrets }
    // One that cannot be used has been told of, where its plugins are searched.
    return usualPipelineFile.flatMap { try? document(file: $0).secrets } ?? SecretRules()
  }

  /// Reads a pipeline and checks it against the installed plugins.
  ///
  /// - Parameters:
  ///   - home: no stage may be told to write this home's own files; `nil`: nothing will be written.
  ///   - isStart: what is known of the plugins from before is enough. Commands that check ask each.
  static func pipeline(file: String, home: Home?, isStart: Bool = false) throws -> LoadedPipeline {
    // Once: a pipe has its content once.
    let document = try document(file: file)
    let isBuiltIn = file == BuiltInPipeline.name
    if isStart, let pipeline = try? load(document, home, isStart: true, isBuiltIn: isBuiltIn) {
      return pipeline
    }
    // What does not fit what a plugin once said may fit what it says now.
    return try load(document, home, isStart: false, isBuiltIn: isBuiltIn)
  }

  private static func load(
    _ document: PipelineDocument, _ home: Home?, isStart: Bool, isBuiltIn: Bool
  ) throws -> LoadedPipeline {
    var document = document
    document.reportFolders { access($0, F_OK) != 0 }
    let search = try PluginSearch(named: document.pluginFolders, environment: variables)
    var plugins: [(id: String, file: String)] = []
    for id in document.uses + ["digest"] where !plugins.contains(where: { $0.id == id }) {
      if let file = search.file(of: id) { plugins.append((id, file)) }
    }
    let answers = search.describe(plugins, keptIn: isStart ? PluginSearch.cacheFolder(variables) : nil)
    let digest = try digest(answers)
    let described = answers.mapValues { result in
      result.mapError { PluginProblem(message: $0.message, remedy: "`sluice doctor` tells more") }
    }
    // An unknown `use` is reported by the document, with the known plugins for a suggestion.
    let known = search.all().map(\.id)
    let ownFiles = home.map { OwnFiles(of: $0) }
    let definition = try document.resolve(described, known: known) { ownFiles?.name(ofPathInHome: $0) }
    for stage in definition.stages + definition.channels.map(\.stage) {
      guard let problem = stage.description.program.flatMap(ProgramFile.distrust) else { continue }
      throw CommandError(.configuration, "stage '\(stage.id)': \(problem)")
    }
    return LoadedPipeline(
      definition: definition, digest: digest, search: search, document: document,
      isBuiltIn: isBuiltIn)
  }

  /// The pipelines that judge for the doors of clamd's clients, one for each door. A file that several doors name is read once.
  ///
  /// - Parameter rules: of the doors; `nil`: as the pipeline has them.
  static func doors(
    _ rules: [ServeRules.ClamdDoor]? = nil, of pipeline: LoadedPipeline, file: String, home: Home?
  ) throws -> [LoadedPipeline] {
    var read: [String: LoadedPipeline] = [:]
    let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    return try (rules ?? pipeline.definition.serve.clamd).map { door in
      guard let path = door.pipeline else { return pipeline }
      let place = path.hasPrefix("/") ? path : folder + path
      let loaded = try read[place] ?? self.pipeline(file: place, home: home, isStart: true)
      read[place] = loaded
      return loaded
    }
  }

  static func contents(of file: String) throws(CommandError) -> [UInt8] {
    if file == BuiltInPipeline.name { return Array(BuiltInPipeline.text.utf8) }
    if file != "-", let problem = TrustedPath.problem(with: file) {
      throw CommandError(
        .configuration,
        "\(file): \(problem), and a pipeline says which programs run; read it, then run this again with `--trust "
          + "\(ShellWord.of(file.hasPrefix("-") ? "./" + file : file))`, or name another with --config FILE")
    }
    let descriptor = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC)
    func unreadable() -> CommandError {
      CommandError(
        .configuration,
        "\(file): \(String(cString: strerror(errno))); name a pipeline's file with --config FILE")
    }
    if descriptor < 0 { throw unreadable() }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw unreadable() }
      if count == 0 { return bytes }
      bytes += piece[..<count]
      if bytes.count > 4 << 20 {
        throw CommandError(
          .configuration, "\(file): is larger than any pipeline; name a pipeline's file with --config FILE")
      }
    }
  }
}

/// A checked pipeline with everything it needs to run.
struct LoadedPipeline {
  var definition: PipelineDefinition
  var digest: StageDescription
  var search: PluginSearch
  /// As written, for the places of what the plugins say against it.
  var document: PipelineDocument
  /// It is this program's own.
  var isBuiltIn = false
  /// The pipelines that judge for the doors of clamd's clients, one for each; of one that was read again.
  var judges: [LoadedPipeline] = []
}
