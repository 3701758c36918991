import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// What stages took, read from what attempts recorded.
struct StageTimesTests {
  private func read(_ text: String) -> [String] {
    StageTimes.read(Array(text.utf8)).map { "\($0.stage) \($0.microseconds)" }
  }

  @Test func everyAttemptIsALine() {
    let first = #"[["mime","pass",null,null,12],["pdf","retry","busy","try \"later\\ ],[\n",7]]"#
    #expect(read(first + "\n" + #"[["mime","pass",null,null,3]]"#) == ["mime 12", "pdf 7", "mime 3"])
    #expect(read("").isEmpty && read("[]").isEmpty)
  }

  @Test(arguments: [
    "null", "[[", #"[["mime"#, #"[["mime","pass",null,null"#, #"[["mime","pass",null,null,]]"#,
    #"[["mime","pass",nil,null,1]]"#, #"[["mime","pass",null,null,99999999999999999999]]"#,
    #"[["mime","pass",null,null,-1]]"#, #"[["a\"#, "\n\n",
  ])
  func aDamagedLineEndsWhereItIs(line: String) {
    #expect(read(line).isEmpty)
    #expect(read(line + "\n" + #"[["size","pass",null,null,1]]"#) == ["size 1"])
  }
}
