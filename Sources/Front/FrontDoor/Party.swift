import LedgerPort
import Platform

/// Who asks, with regard to what is asked for.
public enum Party: String, Sendable, CaseIterable {
  /// Without a token, or with one that is worth nothing.
  case nobody
  /// A user who takes no part in it.
  case stranger
  case participant
  case sender
  case service
  case admin

  /// With regard to what belongs to no user.
  init(_ token: AccessToken?) {
    switch token?.role {
    case nil: self = .nobody
    case .user: self = .stranger
    case .service: self = .service
    case .admin: self = .admin
    }
  }

  /// With regard to an attachment.
  init(_ token: AccessToken?, sender: String, participants: [String]) {
    self.init(token)
    guard let token, token.role == .user else { return }
    let name = ByteText(token.name)
    if name == ByteText(sender) {
      self = .sender
    } else if participants.contains(where: { ByteText($0) == name }) {
      self = .participant
    }
  }
}
