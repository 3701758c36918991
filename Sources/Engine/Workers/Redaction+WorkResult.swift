import Pipeline
import Sealing
import Wire

extension Redaction {
  /// A result without the secrets of the stages' options, in any text that is recorded or told.
  func withoutSecrets(_ result: WorkResult) -> WorkResult {
    if isEmpty { return result }
    var result = result
    for index in result.report.results.indices {
      result.report.results[index].message = result.report.results[index].message.map(withoutSecrets)
    }
    // A name with a secret in it is none that was declared, and what is left of a type is none.
    result.report.metadata.removeAll { withoutSecrets($0.key) != $0.key }
    if let type = result.report.mediaType, withoutSecrets(type) != type { result.report.mediaType = nil }
    for index in result.report.metadata.indices {
      if case .text(let text) = result.report.metadata[index].value {
        result.report.metadata[index].value = .text(withoutSecrets(text))
      }
    }
    for index in result.report.remarks.indices {
      result.report.remarks[index].text = withoutSecrets(result.report.remarks[index].text)
    }
    return result
  }
}
