/// A queue with limits and a pause switch.
public struct LaneName: Sendable, Hashable, CustomStringConvertible {
  public enum Kind: String, Sendable, CaseIterable {
    case attachments, channel, downloads
  }

  public var kind: Kind
  /// Of the channel; empty: there is one lane of this kind.
  public var name: String
  /// The only host that may claim from it; `nil`: any.
  public var host: String?

  public init(_ kind: Kind, _ name: String = "", host: String? = nil) {
    self.kind = kind
    self.name = name
    self.host = host
  }

  /// The lane of attachments.
  public static let attachments = LaneName(.attachments)

  /// The lane of transfers.
  public static let downloads = LaneName(.downloads)

  /// The lane of a channel's deliveries.
  public static func channel(_ name: String) -> LaneName { LaneName(.channel, name) }

  /// As people write it: `attachments`, `channel:webhook`.
  public var description: String { name.isEmpty ? kind.rawValue : "\(kind.rawValue):\(name)" }

  /// Reads what ``description`` gives; `nil`: it is no lane's name.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(parts[0])), (kind == .channel) == (parts.count == 2) else {
      return nil
    }
    let name = parts.count == 2 ? String(parts[1]) : ""
    if kind == .channel && name.isEmpty { return nil }
    self.init(kind, name)
  }

  /// How its jobs are claimed. Events of a channel are to go out in their order, so that one coordinator at a time may have them.
  package var sharing: Sharing { kind == .channel ? .exclusive : .shared }

  package enum Sharing: String {
    case shared, exclusive
  }
}

/// Why a lane stands still.
public struct Pause: Sendable, Equatable {
  public enum Cause: String, Sendable {
    /// A person asked for it, and lifts it.
    case person
    /// The program met a fault of the place. It tries again by itself, and a start lifts it.
    case fault
    /// The program met a fault that needs a hand: it waits until a person lifts the pause.
    case hand
  }

  /// The reason of a person who gave none.
  public static let unexplained = "a person paused it"

  public var cause: Cause
  /// A stable code for programs: `disk-full`.
  public var code: String
  /// A sentence without its full stop.
  public var reason: String
  /// Who, or which program on which host.
  public var by: String
  /// Since when, in milliseconds since 1970, by the ledger's clock. 0: it is not on record yet.
  public var since: Int64

  /// By what a pause is that is about the session of a user.
  private static let program = "sluice"
  private static let forOwner = "sluice for "

  /// What a program pauses.
  ///
  /// - Parameter owner: the user whose session it is about; `nil`: it is about no session.
  public init(_ cause: Cause, code: String, reason: String, owner: String?) {
    self.init(cause, code: code, reason: reason, by: owner.map { Self.forOwner + $0 } ?? Self.program)
  }

  /// The user whose session it is about; `nil`: it is about no session.
  public var owner: String? {
    cause == .hand && by.hasPrefix(Self.forOwner) ? String(by.dropFirst(Self.forOwner.count)) : nil
  }

  public init(_ cause: Cause, code: String, reason: String, by: String = "", since: Int64 = 0) {
    self.cause = cause
    self.code = code
    self.reason = reason
    self.by = by
    self.since = since
  }
}
