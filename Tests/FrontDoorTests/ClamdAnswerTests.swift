import Pipeline
import Scheduler
import Testing

@testable import FrontDoor

/// What clients of ClamAV's daemon are told of a verdict.
struct ClamdAnswerTests {
  private func found(_ stage: String, _ code: String, signature: String? = nil) -> CheckResult {
    var result = CheckResult(.found, Reason(stage: stage, code: code, message: "a: b"))
    if let signature {
      result.metadata = [Metadatum(key: "scan.signature", value: .text(signature))]
    }
    return result
  }

  @Test func eachVerdictHasItsAnswer() {
    #expect(ClamdAnswer.text(CheckResult(.clean), .error) == "OK")
    #expect(ClamdAnswer.text(CheckResult(.clean), .found) == "OK")
    #expect(ClamdAnswer.text(found("pdf", "encrypted"), .error) == "Sluice.pdf.encrypted FOUND")
    let unknown = CheckResult(.unknown, Reason(stage: "check", code: "too-late", message: ""))
    #expect(ClamdAnswer.text(unknown, .error) == "Sluice.check.too-late: not decided. ERROR")
    #expect(ClamdAnswer.text(unknown, .found) == "Sluice.check.too-late FOUND")
    #expect(ClamdAnswer.text(CheckResult(.unknown), .error) == "Sluice.unexplained: not decided. ERROR")
  }

  /// What a stage says of itself is no name of a scanner's.
  @Test func aScannersNameIsToldOnlyOfWhatItFound() {
    #expect(ClamdAnswer.name(found("scan", "virus-found", signature: "Win.Test-1")) == "Win.Test-1")
    #expect(ClamdAnswer.name(found("pdf", "encrypted", signature: "Win.Test-1")) == "Sluice.pdf.encrypted")
    #expect(ClamdAnswer.name(found("scan", "virus-found")) == "Sluice.scan.virus-found")
  }

  /// Clients read a line, and look for colons, spaces and the last word.
  @Test func aNameIsPlainAndShort() {
    for signature in [
      "a b", "x: OK", "é\n\0", "{HEX}php.1", String(repeating: "long ", count: 100), "OK", " FOUND",
    ] {
      let name = ClamdAnswer.name(found("scan", "virus-found", signature: signature))
      #expect(name.utf8.count <= 127 && !name.isEmpty, "\(name)")
      #expect(name.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil, "\(name)")
    }
    #expect(ClamdAnswer.name(found("scan", "virus-found", signature: "")) != "")
    for signature in ["OK", "okay", "ERROR"] {
      #expect(ClamdAnswer.name(found("scan", "virus-found", signature: signature)) == "Found.\(signature)")
    }
  }
}
