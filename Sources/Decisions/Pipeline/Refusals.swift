/// Tells a credential that is not taken any more from a link that is not for those who named it: a host says 401 to both. The
/// credential is the server's own, and goes with the links of all users, so that none of them alone may stop the lane by it.
public struct Refusals: Sendable {
  /// Whose links each host has answered with 401 since it took the credential last; one user of each.
  private var users: [Int64: [UInt8]] = [:]

  /// Hosts that are remembered. All are forgotten where there are more.
  private static let limit = 1000

  public init() {}

  /// A host gave content.
  public mutating func isTaken(by host: Int64) { users[host] = nil }

  /// A host has answered a user's link with 401.
  ///
  /// - Returns: whether it did so to another user as well, and so means the credential. Then it is counted anew from here.
  public mutating func isRefused(by host: Int64, to user: String) -> Bool {
    let user = Array(user.utf8)
    if let other = users[host], other != user {
      users[host] = nil
      return true
    }
    if users.count >= Self.limit { users.removeAll() }
    users[host] = user
    return false
  }
}
