/// One error in a pipeline file: the place, the problem and the remedy.
public struct Diagnostic: Sendable, Equatable, CustomStringConvertible {
  /// The file's name as given to the reader.
  public var file: String
  /// From 1.
  public var line: Int
  /// In characters, from 1.
  public var column: Int
  public var message: String
  /// What to do next, as the end of a sentence.
  public var remedy: String?

  public init(file: String, line: Int, column: Int, message: String, remedy: String? = nil) {
    self.file = file
    self.line = line
    self.column = column
    self.message = message
    self.remedy = remedy
  }

  /// `pipeline.yaml:14:9: unknown option 'max-page' for stage 'pdf'; did you mean 'max-pages'?`
  public var description: String { "\(file):\(line):\(column): \(problem)" }

  /// The same without the place.
  public var problem: String { message + (remedy.map { "; \($0)" } ?? "") }
}

/// The reasons why a pipeline file cannot be used.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// At least one, in the order of the file.
  public var diagnostics: [Diagnostic]

  public init(diagnostics: [Diagnostic]) {
    self.diagnostics = diagnostics
  }

  /// A line for each diagnostic.
  public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}

/// Why a plugin was not found or does not load.
public struct PluginProblem: Error, Sendable, Equatable {
  /// What happened, as the end of a sentence: `there is no such plugin in plugins`.
  public var message: String
  /// What to do next, as the end of a sentence.
  public var remedy: String?

  public init(message: String, remedy: String? = nil) {
    self.message = message
    self.remedy = remedy
  }
}
