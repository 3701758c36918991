import CPlatform
import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform
import Scheduler
import Wire
import Workers

/// What surrounds a scheduler whose workers are scripted: time and the ledger are real; no file is opened or renamed but one.
final class ScriptedWorld {
  /// Nanoseconds that a worker takes for an attachment's content.
  let contentTime: UInt64
  private let ledger: LedgerThread
  private let store = EmptyStore()
  private let source: Descriptor
  private let sourceState: FileState
  private var batches: [Intake.Batch]
  private var workers: [UInt32: ScriptedWorker] = [:]
  private var happenings: [Happening] = []
  private var answers = Answers()
  /// When this turn of the scheduler began, on the monotonic clock.
  private(set) var now = Clock.monotonic()
  private(set) var ledgerUse = LedgerThread.Use()

  /// - Parameters:
  ///   - source: the path of the file that all attachments are read from.
  ///   - items: what is taken in, in batches of an ingest's size.
  init(_ ledger: any LedgerWriter, contentTime: UInt64, source: String, items: [IntakeItem]) throws {
    self.ledger = try LedgerThread(ledger)
    self.contentTime = contentTime
    self.source = try Descriptor.open(source, O_RDONLY)
    var facts = stat()
    if fstat(self.source.number, &facts) != 0 { throw SystemError("looking at \(source)") }
    sourceState = FileState(facts)
    batches = stride(from: 0, to: items.count, by: 500).map { start in
      Intake.Batch([.takeIn(Array(items[start..<min(start + 500, items.count)]))], ticket: 0)
    }.reversed()
    batches.insert(Intake.Batch([], ticket: 0), at: 0)  // the end, taken last
  }

  /// What the scheduler uses. It holds this world weakly.
  func environment() -> SchedulerEnvironment {
    SchedulerEnvironment(
      clock: .machine, jitter: { 0.5 }, store: store,
      descriptorLimit: Int(sluice_raise_descriptor_limit()),
      startWorker: { [unowned self] slot, setup, _ in
        let worker = ScriptedWorker(self, slot: slot, setup)
        workers[slot] = worker
        return worker
      },
      awaitWritable: { _, _ in }, exchange: { [unowned self] in ledger.send($0) },
      open: { [unowned self] in open($0) },
      publish: { [unowned self] in add(.published($0.map { _ in nil })) },
      delete: { [unowned self] in add(.deleted($0.map { _ in nil })) },
      nextBatch: { [unowned self] in batches.popLast() }, lostPlace: { nil },
      wait: { [unowned self] milliseconds throws(SystemError) in wait(milliseconds) },
      close: { [unowned self] _ in ledgerUse = ledger.stop() })
  }

  private func open(_ sources: [Source]) {
    for one in sources {
      let descriptor = dup(source.number)
      add(
        .opened(
          serial: one.serial,
          descriptor >= 0 ? .opened(descriptor, sourceState) : one.open()))
    }
  }

  // MARK: What is to happen

  /// Lets something happen at once.
  func add(_ happening: Happening) {
    happenings.append(happening)
  }

  /// Lets a worker answer at this time of the monotonic clock, in nanoseconds.
  func arrange(_ time: UInt64, _ slot: UInt32) {
    answers.insert(time, slot)
  }

  private func wait(_ milliseconds: Int32) -> [Happening] {
    let limit = Clock.monotonic() + UInt64(max(milliseconds, 0)) * 1_000_000
    while true {
      now = Clock.monotonic()
      while let slot = answers.popFirst(until: now) {
        if let worker = workers[slot] { happenings.append(worker.answer()) }
      }
      let next = min(answers.first ?? limit, limit)
      let replies = ledger.replies(until: happenings.isEmpty && next > now ? next : 0)
      for reply in replies { happenings.append(.replied(reply)) }
      if !happenings.isEmpty || Clock.monotonic() >= limit { break }
    }
    defer { happenings.removeAll(keepingCapacity: true) }
    return happenings
  }
}

/// The times at which workers answer, as a heap: the first is the earliest.
struct Answers {
  private var entries: [(time: UInt64, order: UInt64, slot: UInt32)] = []
  private var order: UInt64 = 0

  /// The earliest time.
  var first: UInt64? { entries.first?.time }

  /// Answers that are due at the same time come in the order in which they were inserted.
  mutating func insert(_ time: UInt64, _ slot: UInt32) {
    order += 1
    entries.append((time, order, slot))
    var child = entries.count - 1
    while child > 0, isBefore(child, (child - 1) / 2) {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Takes the earliest, if it is due.
  mutating func popFirst(until now: UInt64) -> UInt32? {
    guard let first = entries.first, first.time <= now else { return nil }
    let last = entries.removeLast()
    if entries.isEmpty { return first.slot }
    entries[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < entries.count && isBefore(child, least) {
        least = child
      }
      if least == parent { return first.slot }
      entries.swapAt(least, parent)
      parent = least
    }
  }

  private func isBefore(_ one: Int, _ other: Int) -> Bool {
    (entries[one].time, entries[one].order) < (entries[other].time, entries[other].order)
  }
}

/// A store in which everything is where it is to be, and nothing is kept.
private final class EmptyStore: ObjectStore {
  func digest(ofStaged staged: StagedName) -> [UInt8]? { nil }
  func adopt(_ file: String, open descriptor: Int32, as name: StagedName) -> String? { nil }
  let name = "the store"
  let isEmpty = true

  func stage(_ sets: [[NewObject]]) -> [Result<[[UInt8]], SystemError>] { [] }
  func publish(_ object: StagedObject) throws(SystemError) {}
  func discard(_ staged: StagedName) {}
  func isStaged(_ staged: StagedName) -> Bool { true }
  func staged() throws(SystemError) -> [StagedName] { [] }
  func standing(of path: String) -> ObjectStanding { .free }
  func open(_ path: String) throws(SystemError) -> Descriptor? { nil }
  func list(after path: String?) -> any ObjectListing { Nothing() }
  func delete(_ paths: [String]) -> [SystemError?] { paths.map { _ in nil } }

  private final class Nothing: ObjectListing {
    func next(_ limit: Int) throws(SystemError) -> [ListedObject] { [] }
  }
}
