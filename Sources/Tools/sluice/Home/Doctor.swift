import CWorker
import Configuration
import Glibc
import Pipeline
import Workbench
import Workers

/// `sluice doctor`: the features of this machine, the sandbox a worker really gets, the home's keys, and which plugins
/// load.
struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "doctor", abstract: "Check the kernel, the sandbox, the keys and the plugins.",
    discussion: """
      A worker is started and closed as an ingest does it, and says which parts of the sandbox are in force. A program
      with `processes` above 1 needs namespaces as well: without them it alone does not start. The exit code is 1 if
      something is wrong: a part that `sandbox: require` asks for, a key that cannot be used, or a plugin that does
      not load. It says where the keys of the home lie, and whether the disk below is encrypted, as far as the kernel
      tells.
      """,
    options: [.config, .trust, .home, .format, .noColor],
    example: "sluice doctor")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let search = try Environment.search(arguments)
    let plugins = FoundPlugin.found(search.all(), search)
    let report = DoctorReport(
      kernel: Self.kernel, landlockABI: max(Int64(sluice_landlock_abi()), 0),
      offered: sluice_sandbox_offered(), namespaces: sluice_namespaces_problem(),
      worker: Self.worker(plugins, search),
      folders: search.folders.map { ($0, access($0, R_OK | X_OK) == 0) }, plugins: plugins,
      keys: KeyReport(
        try Environment.secretRules(arguments), home: Environment.home(arguments),
        sealed: SealedLinks(Environment.home(arguments)), environment: Environment.variables))
    Terminal.out(arguments.isJSON ? report.json : report.text(Style(arguments)))
    return report.problems.isEmpty ? .success : .incomplete
  }

  private static var kernel: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// Starts a worker with a stage that needs no options, and asks which parts of the sandbox it has.
  private static func worker(_ plugins: [FoundPlugin], _ search: PluginSearch) -> DoctorReport.Worker {
    for id in ["size", "digest"] {
      guard let plugin = plugins.first(where: { $0.id == id }), case .success(let stage) = plugin.result
      else { continue }
      do {
        var launch = StageRunner.Launch(executable: search.worker)
        launch.sandbox = .prefer
        let runner = StageRunner(
          StageDefinition(id: id, description: stage, values: try StageSettings.values([], for: stage)),
          launch)
        try runner.start()
        return .started(stage: id, sandbox: runner.ready?.sandbox ?? 0)
      } catch {
        return .failed("\(error)")
      }
    }
    return .failed("neither 'size' nor 'digest' loads, so that no worker can be tried")
  }
}
