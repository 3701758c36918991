import Configuration
import Glibc
import Pipeline
import Platform
import Workbench
import Workers

/// `sluice test`: the cases of stages and pipelines.
struct Test: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "test", abstract: "Run the cases of stages and pipelines.", arguments: "PATH…",
    discussion: """
      PATH is a file of cases, or a folder: its `cases.yaml` counts, else those of its folders. A case gives a stage
      or a pipeline an input and says what is to come of it. Where something else comes, both are shown with file
      and line, and the exit code is 1.
      """,
    options: [
      CommandOption(name: "filter", value: "TEXT", help: "Only cases whose name holds this."),
      CommandOption(name: "update", help: "Rewrite what does not hold, after showing the difference."),
      CommandOption(
        name: "plugin", value: "FILE",
        help: "The plugin to test, where it is not in a folder that is searched."),
      CommandOption(
        name: "sandbox", value: "on|prefer|off",
        help: "Whether to refuse, or go on, where the kernel lacks a part of it; else on.",
        choices: ["on", "prefer", "off"]),
      CommandOption(
        name: "format", value: "text|json|junit", help: "For people, a JSON object a line, or JUnit's XML.",
        choices: ["text", "json", "junit"]),
      .config, .trust, .noColor,
    ],
    example: "sluice test Plugins/pdf --filter encrypted")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard !arguments.words.isEmpty else {
      throw .usage("`sluice test` needs a PATH: a cases.yaml, or a folder with one")
    }
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let documents = try documents()
    var report = CaseReport(format: arguments.value("format") ?? "text", style: Style(arguments))
    for document in documents { try run(document, &report) }
    if report.count == 0 {
      let filter = arguments.value("filter").map { " whose name holds '\(Terminal.printable($0))'" } ?? ""
      let files = documents.map(\.file).joined(separator: ", ")
      throw CommandError.usage("there is no case\(filter) in \(files)")
    }
    report.end()
    return report.failures == 0 ? .success : .incomplete
  }

  /// Reads all files before any case runs, so that errors in them are reported at once.
  private func documents() throws -> [CaseDocument] {
    var documents: [CaseDocument] = []
    var diagnostics: [Diagnostic] = []
    for path in arguments.words {
      for file in try CaseFiles.find(path) {
        let bytes = try Environment.contents(of: file)
        do throws(ConfigurationError) {
          documents.append(try CaseDocument.parse(bytes, file: file))
        } catch {
          diagnostics += error.diagnostics
        }
      }
    }
    if !diagnostics.isEmpty { throw ConfigurationError(diagnostics: diagnostics) }
    return documents
  }

  private func run(_ document: CaseDocument, _ report: inout CaseReport) throws {
    let filter = arguments.value("filter")
    let cases = document.cases.filter { filter.map($0.name.contains) ?? true }
    if cases.isEmpty { return }
    let runner = try runner(document)
    var failed: [Failed] = []
    report.begin(document.file)
    for one in cases {
      let (found, mismatches) = try runner.check(one)
      if !mismatches.isEmpty { failed.append((one, found, mismatches)) }
      report.add(one, found, mismatches)
    }
    if arguments.flag("update") && !failed.isEmpty { try update(document, failed) }
  }

  private static func cut(_ line: String) -> String { line.count > 200 ? line.prefix(200) + "…" : line }

  private typealias Failed = (one: Case, found: Found, mismatches: [Mismatch])

  private func update(_ document: CaseDocument, _ failed: [Failed]) throws(CommandError) {
    var rewriter = ExpectationRewriter(document)
    var shown: [String] = []
    var count = 0
    for (one, found, mismatches) in failed.sorted(by: { $0.one.expectation.line > $1.one.expectation.line }) {
      let changes = found.changes(mismatches, one.expectation)
      if changes.isEmpty { continue }
      guard let change = rewriter.rewrite(one.expectation, changes) else {
        shown =
          ["\(document.file):\(one.expectation.line): \(one.name): write 'key: value' where it has '? key'"]
          + shown
        continue
      }
      let gone = change.before.filter { !change.after.contains($0) }.map { "- \(Self.cut($0))" }
      let new = change.after.filter { !change.before.contains($0) }.map { "+ \(Self.cut($0))" }
      shown = ["\(document.file):\(change.line): \(one.name)"] + gone + new + shown
      count += 1
    }
    for line in shown { Terminal.error(line, prefix: "") }
    if count > 0 {
      do throws(ConfigurationError) {
        _ = try CaseDocument.parse(rewriter.bytes, file: document.file)
      } catch {
        throw CommandError(
          .internalError, "\(document.file) is left as it is: it would not be readable afterwards (\(error))")
      }
      try CaseFiles.replace(document.file, with: rewriter.bytes)
    }
    let rest = failed.count - count
    Terminal.error(
      "\(document.file): rewrote \(count) of \(Count.text(document.cases.count, "case"))"
        + (rest > 0 ? ", and \(rest) \(rest == 1 ? "needs" : "need") your hand" : "")
        + "; run it again to check")
  }

  // MARK: What is tested

  private func runner(_ document: CaseDocument) throws -> CaseRunner {
    let subject: CaseRunner.Subject
    let digest: StageDefinition
    let search: PluginSearch
    switch document.subject {
    case .stage(let name):
      let chosen = try ChosenStage(try plugin(name, document), try Environment.search(arguments))
      (subject, digest, search) = (.stage(chosen.description), chosen.digest, chosen.search)
    case .pipeline(let name):
      let loaded = try Environment.pipeline(
        file: name.hasPrefix("/") ? name : document.folder + name, home: nil)
      subject = .pipeline(loaded.definition)
      digest = StageDefinition(id: loaded.digest.id, description: loaded.digest, values: [])
      search = loaded.search
    }
    return CaseRunner(
      document, subject, digest: digest, launch: Environment.launch(arguments, search),
      temporaryFolder: Environment.temporaryFolder)
  }

  /// The plugin's file if it is given or named by path in the cases; else the stage's id.
  private func plugin(_ name: String, _ document: CaseDocument) throws(CommandError) -> String {
    if let file = arguments.value("plugin") {
      return file.contains("/") ? file : "./\(file)"
    }
    if !name.contains("/") && !name.hasSuffix(".so") { return name }
    return name.hasPrefix("/") ? name : (document.folder.isEmpty ? "./" : document.folder) + name
  }
}
