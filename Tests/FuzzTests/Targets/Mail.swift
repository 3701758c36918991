@testable import MailStage

extension FuzzTarget {
  /// A mail, or what is declared as one.
  static let mail = FuzzTarget(name: "mail") { bytes in
    guard let stage = mailStage else { throw Violation(description: "the stage does not open") }
    try stage.run(bytes, as: "a.eml", most: 100_000)
  }

  private static let mailStage = StageUnderFuzz(
    mail_stage(1), [("max-parts", "100"), ("max-depth", "20"), ("max-bytes", "100000"), ("all", "false")])
}
