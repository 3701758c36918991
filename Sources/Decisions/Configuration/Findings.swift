/// An error in a value, before its place is known.
struct Fault: Error, Equatable {
  var message: String
  var remedy: String?
  /// A variable is not set: the message should say what the value is for.
  var isUnset = false

  init(_ message: String, _ remedy: String? = nil) {
    self.message = message
    self.remedy = remedy
  }
}

/// The diagnostics of one file, gathered so that all of them are shown at once.
struct Findings: Sendable {
  let file: String
  private var diagnostics: [Diagnostic] = []
  /// The places of unset variables, with the index of their diagnostics.
  private var unset: [(mark: Mark, index: Int)] = []

  init(file: String) {
    self.file = file
  }

  var isEmpty: Bool { diagnostics.isEmpty }

  mutating func report(_ mark: Mark, _ message: String, _ remedy: String? = nil) {
    diagnostics.append(
      Diagnostic(file: file, line: mark.line, column: mark.column, message: message, remedy: remedy))
  }

  mutating func report(_ mark: Mark, _ fault: Fault) {
    if fault.isUnset { unset.append((mark, diagnostics.count)) }
    report(mark, fault.message, fault.remedy)
  }

  /// Adds the purpose of the value to the diagnostic about an unset variable at this place.
  mutating func explainUnset(at mark: Mark, _ use: String) {
    for (place, index) in unset where place == mark {
      diagnostics[index].remedy = (diagnostics[index].remedy.map { "\($0); " } ?? "") + use
    }
  }

  /// All findings in the order of the file; findings at the same place keep their order of discovery.
  var error: ConfigurationError {
    let ordered = diagnostics.enumerated().sorted {
      ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset)
    }
    return ConfigurationError(diagnostics: ordered.map(\.element))
  }
}
