import Pipeline
import Sealing
import Testing
import Wire

@testable import Workers

struct ResultRedactionTests {
  private static let result = {
    var result = WorkResult(serial: 7)
    result.report.results = [
      StageResult(index: 0, verdict: .pass),
      StageResult(index: 1, verdict: .fail, code: "no", message: "not CANARY-1!"),
    ]
    result.report.metadata = [
      Metadatum(key: "a", value: .text("CANARY-1")), Metadatum(key: "b", value: .integer(5)),
    ]
    result.report.remarks = [Remark(index: 0, level: .warning, text: "saw CANARY-1 and https://h.example/a")]
    return result
  }()

  @Test func noTextOfAResultHasASecret() {
    let report = Redaction([Secret("CANARY-1")]).withoutSecrets(Self.result).report
    #expect(report.results.map(\.message) == [nil, "not «secret»!"])
    #expect(report.metadata.map(\.value) == [.text("«secret»"), .integer(5)])
    #expect(report.remarks.map(\.text) == ["saw «secret» and https://h.example/a"])
  }

  @Test func withoutSecretsItStaysAsItIs() {
    #expect(Redaction().withoutSecrets(Self.result).report == Self.result.report)
  }
}
