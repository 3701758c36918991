import CWorker
import LedgerPort
import Pipeline
import Platform

/// What the workers of a coordinator do at a moment. The ledger has nothing of it.
public struct WorkersAtWork: Sendable, Equatable {
  /// Workers that run the same stages.
  public struct Group: Sendable, Equatable {
    /// The ids of the stages in order, as `mime, size, pdf`; or `channel:NAME`.
    public var name: String
    /// Of these, so many have work in hand.
    public var busy: Int
    public var total: Int

    public init(_ name: String, busy: Int, total: Int) {
      (self.name, self.busy, self.total) = (name, busy, total)
    }
  }

  /// A piece of work in a stage's hands.
  public struct Piece: Sendable, Equatable {
    /// The id of the stage or channel.
    public var stage: String
    /// For a channel, the one whose event is delivered.
    public var attachmentId: String
    /// As the sender calls it; empty for an event that is delivered.
    public var fileName: String
    /// Milliseconds since 1970.
    public var since: Int64

    public init(stage: String, attachmentId: String, fileName: String, since: Int64) {
      (self.stage, self.attachmentId, self.fileName, self.since) = (stage, attachmentId, fileName, since)
    }
  }

  /// In the order of the pipeline, with what hashes contents first.
  public var groups: [Group]
  /// What has been with one stage for longest; `nil`: nothing is in hand.
  public var longest: Piece?
  /// `nil`: links are not fetched.
  public var downloads: DownloadsAtWork?

  public init(_ groups: [Group], longest: Piece?, downloads: DownloadsAtWork? = nil) {
    (self.groups, self.longest, self.downloads) = (groups, longest, downloads)
  }

  /// Of all groups.
  public var busy: Int { groups.reduce(0) { $0 + $1.busy } }
  public var total: Int { groups.reduce(0) { $0 + $1.total } }
}

extension WorkerPool {
  /// What the workers do now. Which stage is at work, the worker shows: that is believed only of what it was given.
  var atWork: WorkersAtWork {
    var all: [WorkersAtWork.Group] = []
    for group in groups {
      let alive = group.workers.filter { $0.state != .ending }
      let busy = alive.count { !$0.inFlight.isEmpty }
      if let place = all.firstIndex(where: { $0.name == group.name }) {
        // Contents that take long to hash have a group of their own.
        all[place].busy += busy
        all[place].total += alive.count
      } else {
        all.append(.init(group.name, busy: busy, total: alive.count))
      }
    }
    let (now, time) = (environment.clock.monotonic(), environment.clock.now())
    let longest = workers.compactMap(\.piece).min { $0.since < $1.since }
    return WorkersAtWork(
      all,
      longest: longest.map { piece in
        let elapsed = now > piece.since ? Int64(clamping: (now - piece.since) / 1_000_000) : 0
        return .init(
          stage: piece.stage, attachmentId: piece.flight.attachmentId,
          fileName: piece.flight.attachment?.origin.fileName ?? "", since: time &- elapsed)
      })
  }
}

extension WorkerGroup {
  /// What people call it: its stages, or its channel.
  fileprivate var name: String {
    if case .channel(let name) = purpose { return "\(LaneName.channel(name))" }
    return stages.map(\.id).joined(separator: ", ")
  }
}

extension GroupWorker {
  /// What it works on, at which stage, and since when in nanoseconds of the monotonic clock.
  fileprivate var piece: (stage: String, flight: Flight, since: UInt64)? {
    guard state != .ending, let head = inFlight.first, let dispatch = head.dispatched else { return nil }
    let status = process.status
    // Each has a time of its own, and the worker shows that of its last turn.
    if group.limitsEach { return (group.stages[dispatch.first].id, head, dispatch.since) }
    if status.stage == SLUICE_FLUSHING,
      let stage = group.stages.first(where: { $0.description.flushes || $0.description.turns })
    {
      return (stage.id, head, max(status.since, headSince))
    }
    if let flight = inFlight.first(where: { $0.serial == status.serial }), let own = flight.dispatched,
      (own.first..<own.end).contains(Int(status.stage))
    {
      return (group.stages[Int(status.stage)].id, flight, max(status.since, headSince))
    }
    return (group.stages[dispatch.first].id, head, headSince)
  }
}
