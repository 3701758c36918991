import Pipeline

/// A `cases.yaml`: the tests of a stage or a pipeline.
public struct CaseDocument: Sendable {
  /// The stage or pipeline under test.
  public enum Subject: Sendable, Equatable {
    /// A stage by its id, or by its plugin's path, taken from the folder of the file.
    case stage(String)
    /// A pipeline file, taken from the same folder.
    case pipeline(String)
  }

  public let file: String
  public internal(set) var subject: Subject
  public internal(set) var cases: [Case] = []
  let bytes: [UInt8]

  /// Reads a file of cases.
  ///
  /// - Parameters:
  ///   - bytes: the file's content, at most 1 MiB of UTF-8. Variables are not filled in.
  ///   - file: its path; diagnostics begin with it.
  /// - Throws: all errors in the file, in its order. Options are checked later, by ``values(of:for:)``.
  public static func parse(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> CaseDocument {
    var findings = Findings(file: file)
    let tree = TreeBuilder.tree(
      bytes, filling: nil, leastContent: "it needs 'stage: NAME' and 'cases:' at least",
      findings: &findings)
    guard let tree else { throw findings.error }
    var reader = CaseReader(CaseDocument(file: file, subject: .stage(""), bytes: bytes), findings)
    return try reader.read(tree)
  }

  /// The options of a case as passed to the stage, defaults filled in.
  ///
  /// - Throws: the errors in them.
  public func values(
    of one: Case, for description: StageDescription
  ) throws(ConfigurationError) -> [OptionValue] {
    var findings = Findings(file: file)
    let values = OptionReader(stage: description, channels: nil).read(
      one.options, at: one.optionsMark, &findings)
    if !findings.isEmpty { throw findings.error }
    return values
  }

  /// The folder of the file, with its `/`; empty where that is the working directory.
  public var folder: String { file.lastIndex(of: "/").map { String(file[...$0]) } ?? "" }
}
