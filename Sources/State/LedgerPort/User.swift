import Platform

/// A person on record: its name for others, and the account with which it signs in.
///
/// A user of a token or of the product's own identity has a record only once somebody gives it a name or disables it.
public struct User: Sendable, Equatable {
  /// As ``AccessToken/name`` and ``Member/user``.
  public var id: String
  /// The name for others; empty: the user is erased.
  public var name: String
  /// As the person wrote it; `nil`: there is no account.
  public var email: String?
  /// `user` or `admin`.
  public var role: AccessToken.Role
  /// In milliseconds since 1970, as the other.
  public var createdAt: Int64
  /// From when on nothing lets it in; `nil`: it may come in.
  public var disabledAt: Int64?
  /// When its erasure began. Nothing but its id is left in the end.
  public var erasedAt: Int64?

  package init(
    _ id: String, name: String, email: String? = nil, role: AccessToken.Role = .user, createdAt: Int64,
    disabledAt: Int64? = nil
  ) {
    (self.id, self.name, self.email, self.role) = (id, name, email, role)
    (self.createdAt, self.disabledAt) = (createdAt, disabledAt)
  }

  /// Characters of a name.
  public static let longestName = 50
  /// Bytes of an address, without the brackets of a path (RFC 5321, 4.5.3.1.3).
  public static let longestEmail = 254
  /// Sessions of a person at once. The next session ends the one with the earliest end.
  public static let mostSessions = 50

  /// The text by which an address is known: two that differ in the case of letters are one person's.
  public static func emailKey(_ email: String) -> String { email.lowercased() }

  /// The fault of a name: a sentence without its subject and its full stop; `nil`: no fault.
  public static func fault(ofName name: String) -> String? {
    if name.unicodeScalars.allSatisfy({ isInvisible($0) }) { return "is not empty" }
    // Hundreds of marks can stand on one character.
    if name.count > longestName || name.utf8.count > longestName * 32 {
      return "has at most \(longestName) characters"
    }
    let hasControls = name.unicodeScalars.contains {
      // Ends of lines and directions of text (Unicode, UAX #9) are controls, too.
      $0.value < 0x20 || 0x7F...0x9F ~= $0.value || 0x2028...0x202E ~= $0.value || 0x2066...0x2069 ~= $0.value
    }
    return hasControls ? "has no control characters" : nil
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar.properties.generalCategory == .format
  }

  /// The same for an address. Only a mail to it would show whether it works.
  public static func fault(ofEmail email: String) -> String? {
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    let isPlain = email.unicodeScalars.allSatisfy {
      $0.value > 0x20 && !(0x7F...0x9F ~= $0.value) && !isInvisible($0)
        && !"<>()[]\\,;:\"".contains(Character($0))
    }
    guard parts.count == 2, isPlain, !parts[0].isEmpty, parts[0].utf8.count <= 64,
      email.utf8.count <= longestEmail,
      parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy({
        !$0.isEmpty && $0.first != "-" && $0.last != "-"
      })
    else { return "is an address such as ann@example.com" }
    return nil
  }

  /// The name of a person who gave none: the part of the address before the `@`.
  public static func name(fromEmail email: String) -> String {
    String(email.prefix { $0 != "@" }.prefix(longestName))
  }
}

/// A user with what proves that it is that person.
public struct Account: Sendable, Equatable {
  public var user: User
  /// The salted hash of its password, as `PasswordHash` writes it; `nil`: it cannot sign in.
  public var password: String?
  /// The place at which its erasure continues; `nil`: the erasure has not begun, or is whole.
  package var erasing: EraseMark?

  package init(_ user: User, password: String?) { (self.user, self.password) = (user, password) }
}

/// A place in the erasure of a user: first come its conversations by their keys, then its other attachments.
package struct EraseMark: Sendable, Equatable, LosslessStringConvertible {
  package var conversation: Int64
  package var number: Int64 = 0
  package var attachment: Int64 = 0

  package init(conversation: Int64) { self.conversation = conversation }

  package init?(_ text: String) {
    let parts = text.split(separator: ".").compactMap { Int64($0) }
    if parts.count != 3 { return nil }
    (conversation, number, attachment) = (parts[0], parts[1], parts[2])
  }

  package var description: String { "\(conversation).\(number).\(attachment)" }
}

/// A session that begins: a token of a person, by which it stays signed in on one device.
public struct NewSession: Sendable, Equatable {
  /// The SHA-256 of the token.
  public var hash: [UInt8]
  /// The name of the device, given by the client; it may be empty.
  public var device: String
  /// In milliseconds since 1970.
  public var expiresAt: Int64

  public init(hash: [UInt8], device: String, expiresAt: Int64) {
    (self.hash, self.device, self.expiresAt) = (hash, device, expiresAt)
  }
}

/// Changes users and their sessions. The caller has checked passwords, and hands over hashes of them.
public struct UserCommand: Sendable, Equatable {
  public enum Action: Sendable, Equatable {
    /// Adds a user.
    case add(name: String, email: String?, password: String?, role: AccessToken.Role, session: NewSession?)
    /// Begins a session, if this hash is still the password's.
    case signIn(password: String, NewSession)
    /// Changes the given values.
    case change(UserChange)
    /// Does a step of an erasure. Repeat it until the result says that it is whole.
    case erase(byService: Bool)
    /// Ends a session, by the id of its token; `nil`: all.
    case signOut(session: String?)
    /// Moves the end of a session, by the id of its token.
    case prolong(session: String, until: Int64)
  }

  public var userId: String
  public var action: Action

  public init(_ userId: String, _ action: Action) { (self.userId, self.action) = (userId, action) }
}

/// A change of a user; `nil`: the value stays.
public struct UserChange: Sendable, Equatable {
  public var name: String?
  public var email: String?
  public var password: String?
  public var isDisabled: Bool?
  /// Only if this hash is still the password's.
  public var ifPassword: String?
  /// Adds a missing user; without a given name, its name is its id.
  public var adds = false
  /// A service cannot change the account of an administrator.
  public var isByService = false
  /// The session, by the id of its token, that stays when the password changes. The others end.
  public var keepsSession: String?

  public init() {}
}

/// The result of a ``UserCommand``.
public enum UserResult: Sendable, Equatable {
  /// It is on record, as it is now.
  case user(User, hasChanged: Bool)
  /// Nothing lets the user in any more. Unless the erasure is whole, a step more is needed.
  case erased(isWhole: Bool)
  case refused(Refusal)

  public enum Refusal: Sendable, Equatable {
    case notFound
    /// The password is another one by now.
    case wrongPassword
    case disabled
    case erased
    /// A service changes the account of an administrator.
    case administrators
    /// Another user has this id.
    case idTaken
    case emailTaken
    /// Another session has an id like this one's by chance.
    case again
    /// A wrong value: its name, and a sentence without its subject and its full stop.
    case invalid(String, String)
  }
}
