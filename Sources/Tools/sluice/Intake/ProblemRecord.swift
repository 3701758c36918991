import LedgerPort
import Platform

/// Inputs that are not taken in, as they are printed for programs.
enum ProblemRecord {
  /// One line of JSON.
  ///
  /// - Parameter line: of the manifest; `nil`: the problem is about no line.
  static func json(_ problem: IntakeProblem, line: Int?) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "problem")
      writer.member("origin", problem.origin)
      writer.member("line", line.map(Int64.init))
      writer.member("path", problem.path)
      writer.member("message", problem.message)
    }
    return writer.text + "\n"
  }
}
