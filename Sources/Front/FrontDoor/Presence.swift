import FrontWire
import LedgerPort
import Platform
import Synchronization

/// The users with an open stream of events, and when the last streams of others ended. It is in memory alone. All threads use it.
final class Presence: Sendable {
  /// A user, as others see it.
  struct Sight: Sendable, Equatable {
    var user: String
    var isOnline: Bool
    /// When its last stream ended, in milliseconds since 1970; `nil`: it has one, or had none since the start of the server.
    var lastSeenAt: Int64?

    func write(to writer: inout JSONWriter) {
      writer.member("user", user)
      writer.member("online", isOnline)
      writer.member("lastSeenAt", lastSeenAt.map(Clock.timestamp))
    }
  }

  private struct Seen {
    var name: String
    var serials: Set<UInt64> = []
    var lastSeenAt: Int64?
    /// In nanoseconds of the monotonic clock.
    var endedAt: UInt64 = 0
    /// Whether its companions know it as online.
    var isTold = false
  }

  private struct State {
    var users: [ByteText: Seen] = [:]
    /// The users of streams.
    var owners: [UInt64: ByteText] = [:]
    /// Users to compare with the last told state.
    var changed: Set<ByteText> = []
  }

  private let state = Mutex(State())

  /// A client that lost its connection comes back within this time, in nanoseconds, and others hear nothing.
  private static let grace: UInt64 = 3_000_000_000
  /// The limit of users in memory. Beyond it, offline users are forgotten.
  private static let most = 100_000

  func begin(_ serial: UInt64, _ user: String) {
    let id = ByteText(user)
    state.withLock { state in
      state.owners[serial] = id
      state.users[id, default: Seen(name: user)].serials.insert(serial)
      state.changed.insert(id)
    }
  }

  func end(_ serials: some Collection<UInt64>) {
    state.withLock { state in
      if state.owners.isEmpty { return }
      for serial in serials { Self.end(serial, &state) }
      if state.users.count > Self.most {
        state.users = state.users.filter { !$0.value.serials.isEmpty || $0.value.isTold }
      }
    }
  }

  /// The process with the connections has ended.
  func endAll() { state.withLock { state in for serial in state.owners.keys { Self.end(serial, &state) } } }

  private static func end(_ serial: UInt64, _ state: inout State) {
    guard let id = state.owners.removeValue(forKey: serial), state.users[id]?.serials.remove(serial) != nil,
      state.users[id]?.serials.isEmpty == true
    else { return }
    state.users[id]?.lastSeenAt = Clock.now()
    state.users[id]?.endedAt = Clock.monotonic()
    state.changed.insert(id)
  }

  /// Takes some users with a new state.
  ///
  /// - Parameter now: of the monotonic clock, in nanoseconds.
  func takeChanges(at now: UInt64, limit: Int) -> [Sight] {
    state.withLock { state in
      var sights: [Sight] = []
      for id in state.changed {
        if sights.count == limit { break }
        guard var seen = state.users[id] else { continue }
        let isOnline = !seen.serials.isEmpty
        if !isOnline && now < seen.endedAt + Self.grace { continue }
        state.changed.remove(id)
        if isOnline == seen.isTold { continue }
        seen.isTold = isOnline
        state.users[id] = seen
        sights.append(Self.sight(seen))
      }
      return sights
    }
  }

  /// The known states of some users; `nil`: all online users.
  func sights(of users: [String]?) -> [Sight] {
    state.withLock { state in
      guard let users else {
        return state.users.values.map(Self.sight).filter(\.isOnline).sorted { $0.user < $1.user }
      }
      return users.compactMap { state.users[ByteText($0)].map(Self.sight) }
    }
  }

  private static func sight(_ seen: Seen) -> Sight {
    // The same as in the events, also while a lost client may come back.
    let isOnline = !seen.serials.isEmpty || seen.isTold
    return Sight(user: seen.name, isOnline: isOnline, lastSeenAt: isOnline ? nil : seen.lastSeenAt)
  }
}

extension EventFeed {
  /// The event for the companions of a user.
  static func presence(_ sight: Presence.Sight, to companions: [String]) -> Event {
    var writer = JSONWriter()
    writer.object { sight.write(to: &$0) }
    return Event(
      kind: "presence", audience: .users(Set(companions.map { ByteText($0) })), full: writer.text,
      short: writer.text)
  }
}

extension API {
  /// The states of the companions of the asker; for operators, all online users.
  func presence(_ token: AccessToken) throws -> FrontReply {
    if !rules.presence { throw Problem(409, "no-presence", "this server does not tell who is online") }
    let companions = token.role == .user ? try ledger.companions(of: token.name) : nil
    let sights = present.sights(of: companions)
    return Self.json(
      Self.text { writer in
        writer.key("users")
        writer.array { writer in for sight in sights { writer.object { sight.write(to: &$0) } } }
      })
  }
}
