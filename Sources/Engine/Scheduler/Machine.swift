import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Objects
import Pipeline
import Platform
import Wire
import Workers

/// A scheduler's environment on this machine: processes, a store in a folder, and threads for what may block: the ledger,
/// sources, renames.
final class Machine {
  private let home: Home
  private let signals: Int32?
  private let intake: Intake?
  private let early: EarlyWorkers?
  private let workers: WorkerHost
  private let storeFolder: Int32
  private let homeFolder: Int32
  private let ledgerThread: RequestThread<LedgerRequest, Result<ExchangeReply?, LedgerError>>
  private let sourceThread: RequestThread<[Source], [(serial: UInt64, opening: Source.Opening)]>
  private let storeThread: RequestThread<StoreRequest, StoreReply>
  /// Writes and syncs what stages derive: a thread of its own, so that renames need not wait.
  private let stagingThread: RequestThread<[NewPieces], [Result<StagedPieces, SystemError>]>
  private let store: FileStore
  /// Tells of changes of the network; -1: it is not watched.
  private var network: Int32 = -1

  /// Nanoseconds after which those that are open are handed on.
  private static let slowOpening: UInt64 = 1_000_000

  /// What can be read, beside what is heard of workers.
  private enum Subject: UInt32 {
    case ledger, sources, store, staging, intake, signal, network
  }

  /// - Parameters:
  ///   - executable: the worker's.
  ///   - signals: a descriptor from `sluice_signalfd`, or `nil`.
  ///   - early: workers that are there already.
  init(
    _ home: Home, _ ledger: any LedgerWriter, executable: String, signals: Int32?, _ intake: Intake?,
    early: EarlyWorkers? = nil
  ) throws(SystemError) {
    self.early = early
    self.home = home
    self.signals = signals
    self.intake = intake
    let store = try Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY)
    let folder = try Descriptor.open(home.path, O_RDONLY | O_DIRECTORY)
    workers = try WorkerHost(executable: executable)
    let objects = FileStore(root: store.number, home.storePath)
    let ledger = Handover(ledger: ledger)
    ledgerThread = try RequestThread(rest: { ledger.ledger.rest(isIdle: $0) }) { request, reply in
      reply(request.ask(ledger.ledger))
    }
    sourceThread = try RequestThread { sources, reply in
      // A batch is answered at once, unless its files are slow to open: workers need not wait for the last.
      var opened: [(serial: UInt64, opening: Source.Opening)] = []
      var since = Clock.monotonic()
      for source in sources {
        opened.append((source.serial, source.open()))
        guard Clock.monotonic() - since >= Self.slowOpening else { continue }
        reply(opened)
        opened.removeAll()
        since = Clock.monotonic()
      }
      reply(opened)
    }
    storeThread = try RequestThread { request, reply in reply(request.serve(objects)) }
    let pieces = PieceStaging(objects, uploads: home.uploadsPath)
    stagingThread = try RequestThread { batch, reply in
      let isInPlace = objects.isInPlace
      let away = SystemError("writing to \(objects.name)", code: ESTALE)
      reply(isInPlace ? pieces.write(batch) : batch.map { _ in .failure(away) })
    }
    self.store = objects
    (storeFolder, homeFolder) = (store.release(), folder.release())
    watch(ledgerThread.readable, .ledger)
    watch(sourceThread.readable, .sources)
    watch(storeThread.readable, .store)
    watch(stagingThread.readable, .staging)
    if let intake { watch(intake.readable, .intake) }
    if let signals { watch(signals, .signal) }
  }

  /// What the scheduler uses. It holds this machine.
  ///
  /// - Parameter lock: the right to work on the home.
  func environment(_ lock: HomeLock) -> SchedulerEnvironment {
    var environment = SchedulerEnvironment(
      clock: .machine, jitter: { .random(in: 0...1) }, store: store,
      descriptorLimit: Int(sluice_raise_descriptor_limit()), startWorker: start,
      awaitWritable: workers.awaitWritable, exchange: ledgerThread.send, open: sourceThread.send,
      publish: { self.storeThread.send(.publish($0)) }, delete: { self.storeThread.send(.delete($0)) },
      nextBatch: { self.intake?.take() }, lostPlace: lostPlace(lock), wait: wait, close: close)
    environment.downloads = DownloadsFolder(home)
    environment.programFiles = ProgramFile.files
    environment.uploads = home.uploadsPath
    environment.stage = stagingThread.send
    environment.watchNetwork = watchNetwork
    environment.minuteOfWeek = Self.minuteOfWeek
    environment.isAttended = { self.intake?.takeAttention() ?? false }
    environment.isAsked = { self.intake?.takeQuestion() ?? false }
    return environment
  }

  /// As the machine's time zone says (localtime_r(3)).
  private static func minuteOfWeek() -> Int {
    var now = time(nil)
    var local = tm()
    localtime_r(&now, &local)
    // `tm_wday` counts from Sunday.
    return (Int(local.tm_wday) + 6) % 7 * 1440 + Int(local.tm_hour) * 60 + Int(local.tm_min)
  }

  private func lostPlace(_ lock: HomeLock) -> () -> Place? {
    { [store] in !lock.isInPlace ? .home : !store.isInPlace ? .store : nil }
  }

  var processors: Int { max(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), 1) }

  private func watch(_ descriptor: Int32, _ subject: Subject) {
    workers.watch(descriptor, as: subject.rawValue)
  }

  private func watchNetwork() {
    if network >= 0 { return }
    network = sluice_watch_network()
    if network >= 0 { watch(network, .network) }
  }

  // MARK: Workers

  private func start(
    _ slot: UInt32, _ setup: Setup, _ folder: WorkerFolder?
  ) throws(SystemError) -> any Worker {
    let descriptor =
      switch folder {
      case .store: storeFolder
      case .home: homeFolder
      case nil: Int32(-1)
      }
    return try workers.start(
      slot, setup, folder: descriptor, ready: folder == nil ? early?.take(setup) : nil)
  }

  private func close(_ isAtOnce: Bool) {
    intake?.end()
    early?.end()
    workers.kill()
    if isAtOnce { return }
    workers.close()
    ledgerThread.stop()
    storeThread.stop()
    stagingThread.stop()
    // It may be in a call that does not return, on a file system that hangs; and it changes nothing.
    sourceThread.abandon()
    for descriptor in [storeFolder, homeFolder, network] where descriptor >= 0 {
      Glibc.close(descriptor)
    }
  }

  // MARK: Waiting

  private func wait(_ milliseconds: Int32) throws(SystemError) -> [Happening] {
    var happenings: [Happening] = []
    try workers.wait(milliseconds) {
      happenings.append(.worker(slot: $0, $1))
    } other: {
      take(Subject(rawValue: $0), &happenings)
    }
    return happenings
  }

  private func take(_ subject: Subject?, _ happenings: inout [Happening]) {
    switch subject {
    case .ledger:
      for reply in ledgerThread.replies() { happenings.append(.replied(reply)) }
    case .sources:
      for (serial, opening) in sourceThread.replies().joined() {
        happenings.append(.opened(serial: serial, opening))
      }
    case .store:
      for reply in storeThread.replies() {
        switch reply {
        case .published(let results): happenings.append(.published(results))
        case .deleted(let results): happenings.append(.deleted(results))
        }
      }
    case .staging:
      for results in stagingThread.replies() { happenings.append(.staged(results)) }
    case .intake: intake?.clear()
    case .signal:
      while let signals, case let number = sluice_signal_take(signals), number != 0 {
        happenings.append(.signal(number))
      }
    case .network: if sluice_network_has_changed(network) != 0 { happenings.append(.networkChanged) }
    case nil: break
    }
  }
}

/// What is asked of the store's thread.
private enum StoreRequest: Sendable {
  case publish([StagedObject])
  case delete([String])

  func serve(_ store: FileStore) -> StoreReply {
    // The descriptor would go on leading to a store that was moved away.
    let isInPlace = store.isInPlace
    switch self {
    case .publish(let objects):
      return .published(
        objects.map { object in
          if !isInPlace { return SystemError("naming the object \(object.path)", code: ESTALE) }
          do throws(SystemError) {
            try store.publish(object)
            return nil
          } catch {
            return error
          }
        })
    case .delete(let paths):
      if isInPlace { return .deleted(store.delete(paths)) }
      return .deleted(paths.map { SystemError("deleting the object \($0)", code: ESTALE) })
    }
  }
}

private enum StoreReply: Sendable {
  case published([SystemError?])
  case deleted([SystemError?])
}

/// The ledger for its thread. Unchecked because that thread alone uses it between its start and its end.
private struct Handover: @unchecked Sendable {
  let ledger: any LedgerWriter
}
