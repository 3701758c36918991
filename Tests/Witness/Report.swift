import Foundation

/// The output of a check: one line for each fault, and a last one.
enum Report {
  static func text(_ check: Check, isJSON: Bool) throws -> Data {
    var text = Data()
    for finding in check.findings {
      if isJSON {
        text += try line([
          "fault": finding.rule.rawValue, "place": finding.place, "reason": finding.reason,
        ])
      } else {
        text += Data("\(finding.rule.rawValue): \(finding.place): \(finding.reason)\n".utf8)
      }
    }
    if isJSON {
      text += try line(["attachments": check.attachments, "faults": check.findings.count])
    } else {
      text += Data("\(check.attachments) attachments, \(check.findings.count) faults\n".utf8)
    }
    return text
  }

  private static func line(_ object: [String: Any]) throws -> Data {
    try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]) + Data("\n".utf8)
  }
}
