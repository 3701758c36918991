import CPlatform
import FrontWire
import Glibc
import LedgerPort
import Platform
import Scheduler
import Synchronization

/// The streams of those who listen to events (Server-Sent Events, WHATWG HTML 9.2).
///
/// One thread reads what changed, once for all who have heard the same, and tells each what it may see.
final class EventStreams: Sendable {
  /// Who listens, and from where on.
  struct Listener: Sendable {
    /// `nil`: one that hears all.
    var user: String?
    /// What the client has heard last, as it says; `nil`: nothing.
    var lastEventId: String?
    /// Whether others are not told that its user is online.
    var isHidden = false
  }

  private struct Joining: Sendable {
    var serial: UInt64
    var listener: Listener
  }

  private struct Changes {
    var joining: [Joining] = []
    var left: Set<UInt64> = []
    /// Serials of streams to close after the next round of events.
    var dismissed: [UInt64] = []
    /// What is told to those alone who listen now.
    var live: [EventFeed.Event] = []
    /// What is fetched now; `nil`: it was not told since.
    var transfers: [DownloadsAtWork.Transfer]?
    /// All that there were are gone.
    var isReset = false
  }

  private struct Stream {
    var user: String?
    var mark: EventFeed.Mark
  }

  /// Tells streams something.
  private let send: @Sendable ([UInt64], [UInt8]) -> Void
  /// Ends a stream.
  private let finish: @Sendable (UInt64) -> Void
  /// Closes the connection of a stream.
  private let abort: @Sendable (UInt64) -> Void
  private let changes = Mutex(Changes())
  /// Serials of open streams, without the dismissed ones.
  private let listening = Mutex<Set<UInt64>>([])
  private let wake: SharedDescriptor
  private let number = Atomic(0)

  /// Milliseconds between two looks at the ledger, where it is not told that something changed.
  private static let interval: Int32 = 200
  /// Nanoseconds after which a stream is told something, so that all on its way see that it lives.
  private static let heartbeat: UInt64 = 15_000_000_000
  /// Changes that are read at a time, before others have their turn.
  private static let turn = 200
  /// Events that wait to be told and are not on record; more are dropped.
  private static let mostLive = 10_000

  init(
    finish: @escaping @Sendable (UInt64) -> Void, abort: @escaping @Sendable (UInt64) -> Void,
    send: @escaping @Sendable ([UInt64], [UInt8]) -> Void
  ) throws(SystemError) {
    (self.finish, self.abort, self.send) = (finish, abort, send)
    let wake = sluice_eventfd()
    if wake < 0 { throw SystemError("making an eventfd") }
    self.wake = SharedDescriptor(Descriptor(owning: wake))
  }

  /// Streams that are open.
  var count: Int { number.load(ordering: .relaxed) }

  func add(_ serial: UInt64, _ listener: Listener) {
    listening.withLock { _ = $0.insert(serial) }
    changes.withLock { $0.joining.append(Joining(serial: serial, listener: listener)) }
    hurry()
  }

  func remove(_ serials: some Collection<UInt64>) {
    listening.withLock { $0.subtract(serials) }
    changes.withLock { $0.left.formUnion(serials) }
  }

  /// Closes a stream after its credential was revoked. The client hears of the revoking change first.
  ///
  /// - Returns: false if no stream has this serial, or the stream was dismissed before.
  func dismiss(_ serial: UInt64) -> Bool {
    guard listening.withLock({ $0.remove(serial) }) != nil else { return false }
    changes.withLock { $0.dismissed.append(serial) }
    hurry()
    return true
  }

  /// The process that had the connections has ended.
  func removeAll() {
    listening.withLock { $0 = [] }
    changes.withLock { changes in
      changes = Changes()
      changes.isReset = true
    }
  }

  /// Tells what is not on record to those who listen now; who comes later never hears of it.
  func tell(_ events: [EventFeed.Event]) {
    changes.withLock { changes in
      if changes.live.count < Self.mostLive { changes.live += events }
    }
    hurry()
  }

  /// Tells what is fetched now.
  func tell(_ transfers: [DownloadsAtWork.Transfer]) {
    changes.withLock { $0.transfers = transfers }
    hurry()
  }

  /// Something changed.
  func hurry() { sluice_eventfd_raise(wake.number) }

  // MARK: The thread

  /// Runs until a descriptor is readable. The streams end then: their clients come again, and miss nothing.
  func run(_ open: () -> (any LedgerQueries)?, until stopping: Int32) {
    var feed: EventFeed?
    var watch = TransferWatch()
    /// By serial.
    var streams: [UInt64: Stream] = [:]
    /// Where those are that have heard all.
    var head: Position?
    /// They have been answered, and told nothing yet.
    var waiting: [Joining] = []
    var beat = Clock.monotonic()
    while true {
      var watched = [
        pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0),
      ]
      poll(&watched, 2, Self.interval)
      if watched[0].revents != 0 {
        let joining = changes.withLock { $0.joining.map(\.serial) }
        return (streams.keys + waiting.map(\.serial) + joining).forEach(finish)
      }
      if watched[1].revents != 0 { sluice_eventfd_clear(wake.number) }
      let news = changes.withLock { changes in
        defer { changes = Changes() }
        return changes
      }
      if news.isReset { (streams, waiting) = ([:], []) }
      waiting += news.joining
      waiting.removeAll { news.left.contains($0.serial) }
      for serial in news.left { streams[serial] = nil }
      number.store(streams.count + waiting.count, ordering: .relaxed)
      defer { news.dismissed.forEach(abort) }
      if streams.isEmpty && waiting.isEmpty {
        (head, beat, watch) = (nil, Clock.monotonic(), TransferWatch())
        continue
      }
      if feed == nil { feed = open().map { EventFeed($0) } }
      do {
        if let feed {
          let now = try head ?? feed.position()
          head = now
          for new in waiting { join(new, at: now, &streams) }
          waiting = []
          // Before the change that ends what they are about.
          tell(news.live, streams)
          let fetched = watch.take(news.transfers, at: Clock.monotonic())
          tell(try feed.transfers(fetched, &watch), streams)
          try catchUp(&streams, to: now, feed)
          head = try advance(&streams, from: now, feed)
        }
      } catch {
        // The ledger is away, and is asked again.
      }
      if Clock.monotonic() - beat > Self.heartbeat {
        beat = Clock.monotonic()
        send(Array(streams.keys), Array(":\n\n".utf8))
      }
    }
  }

  private func join(_ new: Joining, at head: Position, _ streams: inout [UInt64: Stream]) {
    // Many clients that lost their server at once do not all come back at once.
    let retry = "retry: \(Int.random(in: 1000...3000))\n"
    guard let text = new.listener.lastEventId else {
      let mark = EventFeed.Mark(head)
      streams[new.serial] = Stream(user: new.listener.user, mark: mark)
      return send([new.serial], Array((retry + Self.text("start", mark, "{}")).utf8))
    }
    send([new.serial], Array((retry + "\n").utf8))
    let mark = EventFeed.Mark(text) ?? EventFeed.Mark(Position(history: 0, number: -1))
    streams[new.serial] = Stream(user: new.listener.user, mark: mark)
  }

  /// Tells those who are behind what they have missed, each for itself.
  private func catchUp(_ streams: inout [UInt64: Stream], to head: Position, _ feed: EventFeed) throws {
    for (serial, stream) in streams where stream.mark != EventFeed.Mark(head) {
      var mark = stream.mark
      for _ in 0..<Self.turn where mark != EventFeed.Mark(head) {
        guard let step = try feed.step(after: mark.position) else {
          // What it missed is not known any more: it begins anew.
          mark = EventFeed.Mark(head)
          send([serial], Array(Self.text("reset", mark, "{}").utf8))
          break
        }
        tell(step, after: mark, [serial: stream])
        mark = EventFeed.Mark(step.next)
        if !step.hasMore { break }
      }
      streams[serial]?.mark = mark
      // There is more of it.
      if mark.position.number < head.number { hurry() }
    }
  }

  /// Tells all who have heard everything what is new, and says where they are then.
  private func advance(
    _ streams: inout [UInt64: Stream], from start: Position, _ feed: EventFeed
  ) throws -> Position {
    var head = start
    var listeners = streams.filter { $0.value.mark == EventFeed.Mark(start) }
    for _ in 0..<Self.turn {
      guard let step = try feed.step(after: head) else {
        head = try feed.position()
        send(Array(listeners.keys), Array(Self.text("reset", EventFeed.Mark(head), "{}").utf8))
        break
      }
      if step.next == head { break }
      tell(step, after: EventFeed.Mark(head), listeners)
      head = step.next
      // Who has caught up while this was read is told the rest with the others.
      if !step.hasMore { break }
    }
    if head != start {
      for serial in listeners.keys { streams[serial]?.mark = EventFeed.Mark(head) }
      listeners = [:]
    }
    return head
  }

  /// Tells listeners, all at the same mark, what they may see of a step.
  private func tell(_ step: EventFeed.Step, after mark: EventFeed.Mark, _ listeners: [UInt64: Stream]) {
    if step.events.isEmpty || listeners.isEmpty { return }
    let hearers = Hearers(listeners)
    for (index, event) in step.events.enumerated() where index >= mark.told {
      let isLast = index == step.events.count - 1
      let next = isLast ? EventFeed.Mark(step.next) : EventFeed.Mark(mark.position, told: index + 1)
      tell(event, next, hearers)
    }
  }

  /// Tells what is on no record.
  private func tell(_ live: [EventFeed.Event], _ streams: [UInt64: Stream]) {
    if live.isEmpty { return }
    let hearers = Hearers(streams)
    for event in live { tell(event, nil, hearers) }
  }

  /// - Parameter mark: what a client has heard once it has heard this; `nil`: it stays where it is.
  private func tell(_ event: EventFeed.Event, _ mark: EventFeed.Mark?, _ hearers: Hearers) {
    if event.audience.hasOperators {
      send(hearers.operators, Array(Self.text(event.kind, mark, event.full).utf8))
    }
    guard let users = event.audience.users else { return }
    send(hearers.serials(of: users), Array(Self.text(event.kind, mark, event.short).utf8))
  }

  /// Streams by who listens.
  private struct Hearers {
    private(set) var operators: [UInt64] = []
    private var byUser: [ByteText: [UInt64]] = [:]

    init(_ streams: [UInt64: Stream]) {
      for (serial, stream) in streams {
        if let user = stream.user {
          byUser[ByteText(user), default: []].append(serial)
        } else {
          operators.append(serial)
        }
      }
    }

    func serials(of users: Set<ByteText>) -> [UInt64] {
      users.count < byUser.count
        ? users.flatMap { byUser[$0] ?? [] }
        : byUser.filter { users.contains($0.key) }.flatMap(\.value)
    }
  }

  private static func text(_ kind: String, _ mark: EventFeed.Mark?, _ data: String) -> String {
    "event: \(kind)\n\(mark.map { "id: \($0.text)\n" } ?? "")data: \(data)\n\n"
  }
}
