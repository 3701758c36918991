/// Concludes from how transfers end whether the network is away, where the source cannot tell. One host that does not answer says
/// nothing about the network; several in a row do.
public struct Connectivity: Sendable {
  /// What the end of a transfer says of the network.
  public enum Conclusion: Sendable, Equatable {
    /// It is there: a host was heard.
    case heard
    case nothing
    /// No host was heard, which may be the host's fault.
    case silence
    /// It is away, for this reason. The transfer is not to blame.
    case away(Reason)
    /// It may be away, or the hosts that one user has chosen: that user's links wait.
    case awayForUser(Reason)
    /// There is no way to this host, and there is one to others.
    case noWay
  }

  /// So many transfers in a row, to so many hosts, have to end without an answer.
  private static let transfers = 3
  private static let hosts = 2
  private static let hostsKept = 10_000

  /// Codes of a source that heard no host, and the code and sentence of the pause that they lead to.
  private static let signs = [
    "unreachable": (offline, "no host answers"),
    "name-not-found": (offline, "the names of hosts have no addresses"),
    "captive-portal": (portal, "the network answers in the place of the hosts, perhaps with its login page"),
  ]

  /// Codes that say nothing about hosts.
  private static let ofHome: Set<String> = [
    "disk-full", "unwritable", "stopped", "interrupted", "timed-out", "stalled",
  ]

  /// Codes of pauses while there is no network. A source says the first itself where this machine has no route.
  public static let offline = "offline"
  public static let portal = "captive-portal"

  private var count = 0
  private var silent: Set<String> = []
  /// Whose links these were of; and whether some were nobody's.
  private var users: Set<String> = []
  private var isOfServices = false
  /// How often in a row it was away, as hosts say that were tried before.
  private var rounds = 0
  /// Hosts to which there was no route: how often, each time after others were heard.
  private var routeless: [String: (times: Int, wereOthersHeard: Bool)] = [:]
  /// So often the host is to blame: routes come and go.
  private static let timesToBlame = 3

  public init() {}

  /// Whether a pause with this code ends by itself when the network is back.
  public static func isAway(_ code: String) -> Bool { code == offline || code == portal }

  /// Something came from a host.
  ///
  /// - Parameter host: with its scheme and port.
  public mutating func heard(_ host: String) {
    (count, silent, rounds) = (0, [], 0)
    (users, isOfServices) = ([], false)
    routeless[host] = nil
    for other in routeless.keys { routeless[other]?.wereOthersHeard = true }
  }

  /// A transfer has ended.
  ///
  /// - Parameters:
  ///   - code: what the source said; `nil`: all is here.
  ///   - host: with its scheme and port.
  ///   - user: whose link it is; `nil`: no user's. A user alone may choose hosts that do not answer, and says nothing of the network
  ///     for all.
  public mutating func take(_ code: String?, host: String, user: String? = nil) -> Conclusion {
    if code == Self.offline {
      var (times, wereOthersHeard) = routeless[host] ?? (0, false)
      if wereOthersHeard { times += 1 }
      routeless[host] = (times, false)
      if times >= Self.timesToBlame { return .noWay }
      rounds += 1
      return .nothing
    }
    if let code, Self.ofHome.contains(code) { return .nothing }
    guard let code, let (pause, sentence) = Self.signs[code] else {
      heard(host)
      return .heard
    }
    count += 1
    let isNew = silent.count < Self.hostsKept && silent.insert(host).inserted
    if let user { if users.count < 2 { users.insert(user) } } else { isOfServices = true }
    // Once it was away, one more is enough.
    guard rounds > 0 || count >= Self.transfers && silent.count >= Self.hosts else { return .silence }
    let reason = Reason(
      stage: TransferRun.stage, code: pause, message: "\(sentence); it is tried again by itself")
    if users.count < 2 && !isOfServices { return .awayForUser(reason) }
    // One that was not tried before may be one more dead host of many, before others that are not: they are tried soon.
    if rounds == 0 || !isNew { rounds += 1 }
    return .away(reason)
  }

  /// Whether each host that has not answered since one was heard was tried once: there may be others that do.
  public var hasMetOnlyNewHosts: Bool { rounds <= 1 }

  /// Milliseconds until it is tried again.
  public var wait: Int64 { min(1000 << Int64(min(max(rounds - 1, 0), 5)), 30_000) }

  /// The system has told of a change: the next tries follow each other quickly.
  public mutating func networkChanged() {
    (rounds, routeless) = (min(rounds, 1), [:])
  }
}
