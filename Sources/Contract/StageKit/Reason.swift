import CStage

/// Why an attachment is not completed, for stages at the end.
public struct Reason: Sendable, Equatable {
  /// The id of the stage that decided, as the pipeline has it; `nil`: the coordinator did.
  public let stage: String?
  /// For programs: a code of that stage, or one of the coordinator's such as `crashed` or `timed-out`.
  public let code: String
  /// For people. It may hold what a sender chose, such as a name.
  public let message: String

  init?(_ raw: sluice_attachment) {
    guard let code = raw.reason_code else { return nil }
    self.code = String(cString: code)
    let stage = raw.reason_stage.map { String(cString: $0) } ?? ""
    self.stage = stage.isEmpty ? nil : stage
    message = raw.reason_message.map { String(cString: $0) } ?? ""
  }
}
