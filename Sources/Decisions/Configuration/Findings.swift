/// What is wrong with a value, before it has a place.
struct Fault: Error, Equatable {
  var message: String
  var remedy: String?
  /// A variable is not set: what the value is to be would help.
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
  /// The places of variables that are not set, and what is said of them.
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

  /// Adds to what is said of variables that are not set, at this place, what they are for.
  mutating func explainUnset(at mark: Mark, _ use: String) {
    for (place, index) in unset where place == mark {
      diagnostics[index].remedy = (diagnostics[index].remedy.map { "\($0); " } ?? "") + use
    }
  }

  /// Everything found, in the order of the file; what was found first comes first where places are equal.
  var error: ConfigurationError {
    let ordered = diagnostics.enumerated().sorted {
      ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset)
    }
    return ConfigurationError(diagnostics: ordered.map(\.element))
  }
}
