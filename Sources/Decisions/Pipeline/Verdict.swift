/// A stage's verdict on an attachment.
public enum Verdict: Int32, Sendable, CaseIterable {
  case pass = 0, reject, retry, fail

  public var name: String {
    switch self {
    case .pass: "pass"
    case .reject: "reject"
    case .retry: "retry"
    case .fail: "fail"
    }
  }
}

/// Why an attachment was not completed.
public struct Reason: Sendable, Hashable {
  public var stage: String
  public var code: String
  public var message: String

  public init(stage: String, code: String, message: String) {
    self.stage = stage
    self.code = code
    self.message = message
  }

  /// The same for users: their sentence names no address that a name has in the operator's network, and no setting.
  public var forUser: Reason { Reason(stage: stage, code: code, message: Self.forUser(code) ?? message) }

  /// The sentence that users get in the place of the operator's; `nil`: they get the operator's.
  static func forUser(_ code: String?) -> String? {
    switch code {
    case "address-not-allowed": "the link leads to an address from which nothing is fetched here"
    case "host-not-allowed": "the link leads to a host from which nothing is fetched here"
    default: nil
    }
  }
}

/// The state of an attachment.
public enum Status: String, Sendable, CaseIterable {
  /// In the queue, or being worked on.
  case queued
  case completed
  /// A stage's policy said no.
  case rejected
  /// A stage could not process it, or every attempt met a temporary fault.
  case failed
  /// It crashed or stalled its worker repeatedly; or a stage's `hold` asks for a person to look at it.
  case quarantined
  /// A person took it back before it had ended.
  case cancelled

  public var isFinal: Bool { self != .queued }
}

/// A value of metadata.
public enum MetadataValue: Sendable, Equatable {
  case text(String)
  case integer(Int64)
  case number(Double)
  case boolean(Bool)

  public var text: String {
    switch self {
    case .text(let value): value
    case .integer(let value): String(value)
    case .number(let value): String(value)
    case .boolean(let value): value ? "true" : "false"
    }
  }
}

/// One key of metadata with its value.
public struct Metadatum: Sendable, Equatable {
  public var key: String
  public var value: MetadataValue

  public init(key: String, value: MetadataValue) {
    self.key = key
    self.value = value
  }
}
