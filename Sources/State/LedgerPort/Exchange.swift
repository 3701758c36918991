import Pipeline

/// What one coordinator brings into the ledger in one durable transaction, and what it wants to have in return.
///
/// A value: it is kept until it is answered, and may be sent again. The ledger takes an exchange with the same number once.
public struct Exchange: Sendable {
  /// One more than the last that was answered; the first is 1. The ledger writes it into the coordinator's row in the same
  /// transaction.
  public var number: Int64
  /// Applied in order, before the settlements.
  public var commands: [Command] = []
  public var settlements: [Settlement] = []
  /// How far transfers are.
  public var checkpoints: [TransferCheckpoint] = []
  /// Paths of objects that were to be deleted, and are gone from the store for good.
  public var deletedObjects: [String] = []
  /// Leases that are wanted, each lane once.
  public var wanted: [Want] = []
  /// Contents that may have been processed before.
  public var contents: [ContentQuestion] = []
  /// Whose turn the jobs have that this exchange adds.
  public var turns = TurnRule.sender

  public init(number: Int64 = 0) {
    self.number = number
  }

  public var isEmpty: Bool { isLookup && contents.isEmpty }

  /// Whether it counts among the coordinator's exchanges: one that only asks does not.
  public var takesNumber: Bool { !isLookup }

  /// Whether it deletes attachments, or is about objects that were deleted.
  package var makesRoom: Bool {
    !deletedObjects.isEmpty
      || commands.contains {
        if case .attachment(let command) = $0, case .delete = command.action { true } else { false }
      }
  }

  /// Whether it writes nothing.
  package var isLookup: Bool {
    commands.isEmpty && settlements.isEmpty && wanted.isEmpty && deletedObjects.isEmpty && checkpoints.isEmpty
  }
}

/// How many leases are wanted of a lane.
public struct Want: Sendable, Equatable {
  public var lane: LaneName
  /// 0, without newcomers: only the lane's state is asked for.
  public var count: Int
  /// How far to count the jobs that wait for later; 0: not at all.
  public var countsWaiting: Int
  /// Of transfers: how many leases of one host may be in hand, of all coordinators.
  public var hosts: HostShares
  /// Of transfers: of how many messages of each conversation, the newest, links are fetched by themselves; 0: all are.
  public var prefetch: Int
  /// Of attachments and deliveries: how many leases each sender has in hand, by ``Lease/turn``; `nil`: one sender may have all.
  public var inHand: [Int64: Int]?
  /// Of transfers: how many leases more are wanted for users who have none in hand, and for what is urgent.
  public var newcomers: Int

  public init(
    _ lane: LaneName, _ count: Int, countsWaiting: Int = 0, hosts: HostShares = HostShares(),
    prefetch: Int = 0, newcomers: Int = 0, inHand: [Int64: Int]? = nil
  ) {
    self.inHand = inHand
    (self.hosts, self.prefetch, self.newcomers) = (hosts, prefetch, newcomers)
    self.lane = lane
    self.count = count
    self.countsWaiting = countsWaiting
  }
}

/// The ledger's answer, once the transaction is durable.
public struct ExchangeReply: Sendable {
  /// The result of each command, in order. A refused command refuses only itself.
  public var results: [CommandResult] = []
  /// What became of each settlement, in order.
  public var settled: [SettlementOutcome] = []
  public var leases: [Lease] = []
  /// The state of each lane that was wanted, in order; then of those that commands have changed.
  public var lanes: [LaneState] = []
  /// What is known of each content, in order.
  public var contents: [KnownContent] = []
  /// Paths of objects that are to be deleted from the store, where commands or deleted objects came with the exchange; not always
  /// all. Nothing gets the path before the exchange says that its object is gone.
  public var objectsToDelete: [String] = []
  /// Transfers whose files are no longer needed.
  public var filesToDelete: [Int64] = []
  /// Uploads that are over, whose files are no longer needed.
  public var uploadsToDelete: [String] = []
  /// The ids of the attachments that commands have deleted.
  public var deletedAttachments: [String] = []
  /// Transfers under way that no attachment waits for any more.
  public var unwanted: [Int64] = []
  /// Transfers under way whose priority commands have changed, or may have.
  public var priorities: [TransferPriority] = []
  /// Of the last change that this exchange made; `nil`: it made none.
  public var position: Position?

  public init() {}
}

public enum SettlementOutcome: Sendable, Equatable {
  /// It is on record.
  case counted
  /// The lease was lost meanwhile, and nothing was written.
  case leaseLost
  /// A person wants what was to end as cancelled; or the object at its path is being deleted. The job is due again, and the attempt does
  /// not count.
  case conflict
  /// Another content has the object's path on record. The job is due again, and the attempt does not count: the next one meets the
  /// object, or is told that its path is taken where that object is lost.
  case pathTaken
  /// Its children are more than is allowed, with the code and the sentence that say so. Nothing was written, and the lease goes on.
  case tooManyChildren(code: String, message: String)
}

/// The state of a lane after an exchange.
public struct LaneState: Sendable, Equatable {
  public var name: LaneName
  /// How many of the wanted leases were granted.
  public var granted = 0
  /// Whether jobs are due and not leased. False if the lane is paused.
  public var hasDue = false
  /// In how many milliseconds the next job is due that waits for later; 0: it is due. `nil`: there is none.
  public var nextDue: Int64?
  /// How many jobs wait for later, as far as was wanted. Counted only if no job is due.
  public var waiting = 0
  /// Why nothing is leased of it; `nil`: it is not paused. That of a person goes before that of the program.
  public var pause: Pause?

  public init(_ name: LaneName) {
    self.name = name
  }
}

/// A place in the stream of changes. Where the history is another, the ledger went back in time, for it was restored from a
/// backup: a reader has to begin again with all that there is.
public struct Position: Sendable, Hashable {
  public var history: Int64
  public var number: Int64

  public init(history: Int64, number: Int64) {
    self.history = history
    self.number = number
  }
}
