import LedgerPort
import Pipeline
import Platform

/// A content to be judged.
public struct Check: Sendable {
  /// Open for reading; a regular file. What it has is not to change until the answer is there: else that is ``CheckVerdict/unknown``.
  public var content: SharedDescriptor
  /// As the client calls it. Stages see it, and it is no path.
  public var fileName: String
  /// The media type that the client has declared; `nil`: none.
  public var declaredType: String?
  /// Milliseconds until it is answered as not decided.
  public var patience: Int64
  /// The user who asks: while contents of one hold up workers, others have more of them. `nil`: no user does, and each content stands
  /// for itself.
  public var owner: String?

  public init(
    _ content: SharedDescriptor, fileName: String = "content", declaredType: String? = nil,
    patience: Int64 = Self.usualPatience, owner: String? = nil
  ) {
    (self.content, self.fileName) = (content, fileName)
    (self.declaredType, self.patience, self.owner) = (declaredType, patience, owner)
  }

  /// As long as a stage may take by default, twice.
  public static let usualPatience: Int64 = 120_000
}

/// What became of a check.
public struct CheckResult: Sendable {
  public var verdict: CheckVerdict
  /// As an attachment would have ended.
  public var outcome: Status
  /// Why it is not clean: the stage, a code, and a sentence.
  public var reason: Reason?
  public var mediaType: String?
  public var sizeBytes: Int64?
  /// In hexadecimal digits; `nil`: the content was judged without being read.
  public var sha256: String?
  public var metadata: [Metadatum] = []
  /// What the stages said, in the order in which they ran.
  public var steps: [Step] = []

  public init(_ verdict: CheckVerdict, _ reason: Reason? = nil) {
    (self.verdict, self.reason) = (verdict, reason)
    outcome = verdict == .clean ? .completed : verdict == .found ? .rejected : .failed
  }

  static func unknown(_ code: String, _ message: String) -> CheckResult {
    CheckResult(.unknown, Reason(stage: "check", code: code, message: message))
  }

  /// Writes its members, named as those of an attachment's record.
  ///
  /// - Parameter isForUser: without times.
  public func write(to writer: inout JSONWriter, isForUser: Bool = false) {
    writer.member("verdict", verdict.rawValue)
    writer.member("mediaType", mediaType)
    writer.member("sizeBytes", sizeBytes)
    writer.member("sha256", sha256)
    writer.member("reason", reason)
    writer.key("metadata")
    writer.raw(JSONWriter.object(of: metadata))
    writer.key("stages")
    writer.array { writer in
      for step in steps {
        writer.object { writer in
          writer.member("stage", step.stage)
          writer.member("verdict", step.verdict)
          if isForUser { return }
          writer.key("milliseconds")
          writer.value(Double(step.microseconds) / 1000)
        }
      }
    }
  }
}
