import Pipeline
import Platform

/// A pipeline file as read, before its stages are looked up.
///
/// ``parse(_:file:environment:)`` reads it, ``pluginFolders`` and ``uses`` say what to look up and where, and
/// ``resolve(_:known:ownFile:)`` checks the rest against the descriptions of the plugins.
public struct PipelineDocument: Sendable {
  /// The folders under `plugins`, in order. Relative ones are taken from the pipeline file's folder.
  public internal(set) var pluginFolders: [String] = []

  /// The place of each of these folders in the file.
  var pluginFolderMarks: [Mark] = []

  /// Every plugin named by `use`, of stages and channels, each once, in order.
  public var uses: [String] {
    var seen: Set<String> = []
    return (stages + channels + lanes).compactMap(\.use?.value.text).filter { seen.insert($0).inserted }
  }

  var stages: [StageEntry] = []
  var channels: [StageEntry] = []
  /// The lane of downloads, if there is one.
  var lanes: [StageEntry] = []
  var credentials: [String: Credential] = [:]
  /// The names under `channels`, including those of broken channels.
  var channelNames: [String] = []
  var retry = RetryPolicy()
  var keep: KeepRules?
  var expand: ExpandRules?
  var serve: ServeRules?
  /// Where the keys lie that seal what is secret.
  public internal(set) var secrets = SecretRules()
  /// The schedule for channels without one of their own.
  var deliveries = DeliverySchedule()
  /// The settings at the top that are given, by name.
  var settings: [String: Given] = [:]
  var findings: Findings

  /// Reads a pipeline file.
  ///
  /// Errors in single keys are kept, so that ``resolve(_:known:ownFile:)`` can report them together with errors in
  /// options. An error is thrown here if looking plugins up is useless: the file is not YAML, not a pipeline
  /// of version 1, has no stages, or its `plugins` cannot be read.
  ///
  /// - Parameters:
  ///   - bytes: the file's content, at most 1 MiB of UTF-8.
  ///   - file: its path; diagnostics begin with it, and relative plugin folders are taken from its folder.
  ///   - environment: for `${NAME}` and `${NAME:-default}` in values.
  ///   - secretFile: reads a file for `${file:/path}`; relative paths have got the folder of `file`. Without it none is read. What
  ///     is read keeps it, to read the headers of credentials again.
  public static func parse(
    _ bytes: [UInt8], file: String, environment: [String: String],
    secretFile: (@Sendable (String) -> Result<[UInt8], ProtectedFile.Problem>)? = nil
  ) throws(ConfigurationError) -> PipelineDocument {
    var findings = Findings(file: file)
    let substitution = Substitution(
      environment: environment, folder: file.lastIndex(of: "/").map { String(file[...$0]) } ?? "",
      secretFile: secretFile ?? Substitution.unread)
    guard let tree = TreeBuilder.tree(bytes, filling: substitution, findings: &findings) else {
      throw findings.error
    }
    let root = SecretPlaces.checked(tree, &findings)
    var reader = DocumentReader(document: PipelineDocument(findings: findings), substitution: substitution)
    if reader.read(root) { return reader.document }
    findings = reader.document.findings
    for entry in reader.document.stages + reader.document.channels + reader.document.lanes {
      entry.reportUnknownKeys(nil, &findings)
    }
    throw findings.error
  }

  /// The most bytes that a secret in a file may have.
  public static let secretLimit = Substitution.secretLimit

  /// Records missing folders under `plugins`, for ``resolve(_:known:ownFile:)`` to report.
  public mutating func reportFolders(missing isMissing: (String) -> Bool) {
    for (folder, mark) in zip(pluginFolders, pluginFolderMarks) where isMissing(folder) {
      findings.report(mark, "there is no folder \(quoted(folder))", "make it, or take it out of 'plugins'")
    }
  }

  /// Checks the file against the declarations of its plugins.
  ///
  /// - Parameters:
  ///   - descriptions: for each of ``uses`` the plugin's description, or why it is not known. More may be
  ///     given.
  ///   - known: names of further plugins, for suggestions.
  ///   - ownFile: the program's own file that a path in the home refers to, for paths a stage would write;
  ///     `nil`: none.
  /// - Throws: all errors in the file, in its order.
  public func resolve(
    _ descriptions: [String: Result<StageDescription, PluginProblem>], known: [String] = [],
    ownFile: @escaping (String) -> String? = { _ in nil }
  ) throws(ConfigurationError) -> PipelineDefinition {
    var resolver = Resolver(document: self, descriptions: descriptions, known: known, ownFile: ownFile)
    return try resolver.definition()
  }

  /// Where a stage, a channel or a lane stands under its id.
  public enum Part: Sendable {
    case stage, channel, lane
  }

  /// What a plugin says against its options when it is opened, at its place in the file.
  ///
  /// - Parameter id: of the stage, or the name of the channel or lane.
  public func diagnostic(_ part: Part, _ id: String, _ message: String) -> Diagnostic {
    let entries =
      switch part {
      case .stage: stages
      case .channel: channels
      case .lane: lanes
      }
    let mark = entries.first { $0.id?.value.text == id }.map { $0.place(of: message) } ?? .start
    return Diagnostic(file: findings.file, line: mark.line, column: mark.column, message: message)
  }
}
