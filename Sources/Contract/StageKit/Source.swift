/// Where content comes from that has to be fetched, as its author writes it.
///
/// The host makes one instance in a worker that may connect, and begins transfers as they become due: many are under way at
/// once, and end in any order, each with ``Transfer/end(_:)``. All calls come on one thread. Nothing waits for the network
/// but ``turn(wake:for:)``.
///
/// A source writes into the file that it is handed, and nowhere else. After at most 8 MiB or two seconds it syncs the file and
/// tells ``Transfer/checkpoint(_:)``: from there another attempt goes on, also where the worker has crashed.
///
/// What servers say is hostile: its lengths, names, types and redirects. So is a link. A link may hold a secret, as headers and
/// bodies do: none of it stands in a message, in metadata or in a line of the log.
public protocol Source {
  /// What the source is and which codes it may give; its role is ``About/Role/source``.
  static var about: About { get }

  /// The options it reads, declared once: they are checked, completed and documented from here.
  static var options: [any OptionDeclaration] { get }

  /// Makes an instance. Throw ``Outcome/fail(_:_:)`` to refuse the pipeline with a reason.
  init(_ opening: Opening) throws(Outcome)

  /// Begins a transfer, and returns at once.
  mutating func start(_ transfer: Transfer)

  /// Works on all transfers. Returns when so many milliseconds are over, when a transfer has ended, or when the descriptor `wake`
  /// can be read, which the source does not do: then the host has something to say.
  mutating func turn(wake: Int32, for milliseconds: Int64)

  /// Lets a transfer stand still at its connection, or go on.
  mutating func hold(_ transfer: Transfer.ID, _ isHeld: Bool)

  /// Ends a transfer: what has come is synced and told with ``Transfer/checkpoint(_:)``, then it is ended with any outcome.
  mutating func stop(_ transfer: Transfer.ID)
}

extension Source {
  /// None.
  public static var options: [any OptionDeclaration] { [] }
}
