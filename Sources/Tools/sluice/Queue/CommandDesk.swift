import Control
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Objects
import Platform
import Scheduler

/// Applies commands: through the coordinator that holds the home, or directly if there is none.
final class CommandDesk {
  private enum Way {
    case coordinator(ControlClient)
    case ledger(any LedgerWriter, HomeLock)
  }

  private let home: Home
  /// Joins the ledger where no coordinator has the home.
  private let join: () throws -> any LedgerWriter
  private var way: Way

  /// How long to wait for a coordinator that is starting or ending: number of tries, and microseconds between
  /// them.
  private static let connecting: (times: Int, each: UInt32) = (100, 20_000)
  /// How often the same files are sent before the coordinator counts as gone.
  private static let tries = 3

  convenience init(_ home: Home) throws { try self.init(home) { try home.join() } }

  /// - Parameter join: joins the ledger, with the key where the commands need it.
  init(_ home: Home, joining join: @escaping () throws -> any LedgerWriter) throws {
    self.home = home
    self.join = join
    way = try Self.way(home, join)
  }

  /// Applies commands to a ledger that this process has to itself.
  ///
  /// - Parameter lock: kept as long as the desk.
  init(_ home: Home, holding lock: HomeLock, joining join: @escaping () throws -> any LedgerWriter) throws {
    (self.home, self.join) = (home, join)
    way = .ledger(try join(), lock)
  }

  private static func way(_ home: Home, _ join: () throws -> any LedgerWriter) throws -> Way {
    for _ in 0..<connecting.times {
      do {
        return .coordinator(try ControlClient(home))
      } catch let error as SystemError where error.code == ETIMEDOUT {
        throw LedgerError(
          .inUse,
          "the coordinator of \(home.path) lets nobody in (\(error)); it may be stopped or overloaded, so try again later"
        )
      } catch {
        // If no coordinator listens, the lock tells more; other errors are reported at the end.
      }
      let lock: HomeLock
      do throws(LedgerError) {
        try home.create()
        lock = try home.lock()
      } catch {
        guard error.code == .inUse else { throw error }
        // What holds the home listens in a moment, or ends; a check does neither.
        usleep(connecting.each)
        continue
      }
      return .ledger(try join(), lock)
    }
    do {
      return .coordinator(try ControlClient(home))
    } catch {
      throw LedgerError(
        .inUse,
        "\(home.path) is in use by a sluice that takes nothing from others (\(error)), such as a check; wait for it to end, "
          + "then run the same command again")
    }
  }

  /// No coordinator has the home.
  var isAlone: Bool {
    if case .ledger = way { true } else { false }
  }

  /// Says that what was queued waits, where nothing works the queue.
  func tellWhatStands(_ arguments: ParsedArguments) {
    if arguments.flag("quiet") { return }
    let hint = Hint(arguments)
    if isAlone {
      Terminal.error(
        "nothing runs on this home; with its pipeline (--config) \(hint("ingest", "--manifest", "/dev/null")) works its queue and "
          + "ends, and \(hint("run")) stays"
      )
    }
    // What a fault has paused is tried again by itself.
    for lane in (try? Environment.ledger(reading: Environment.home(arguments)).status().lanes) ?? [] {
      guard let pause = lane.pause, pause.cause != .fault || PauseText.isCondition(pause) else { continue }
      Terminal.error(
        "lane \(Terminal.printable(lane.name.description)) stands, \(PauseText.text(pause)); "
          + PauseText.remedy(lane.name, pause, hint))
    }
  }

  /// The last exchange with a ledger of its own.
  private var number: Int64 = 0

  deinit {
    if case .ledger(let ledger, _) = way { try? ledger.leave() }  // nothing is in its hands
  }

  /// Which pipeline the coordinator works with, handed to a check; none where no coordinator has the home.
  func checkCoordinator(_ check: (PipelineAtWork?) throws -> Void) throws {
    let answer = try perform {
      Optional.some(try $0.pipelineAtWork())
    } alone: { _ in
      nil
    }
    if let answer { try check(answer) }
  }

  /// Deletes leftover objects and files of deleted attachments: a killed command has left them, or a killed coordinator had staged or
  /// received them. A coordinator at work does so itself.
  func finishDeletions() throws {
    guard case .ledger(let ledger, _) = way else { return }
    let reader = try home.reader()
    if let root = try? Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY) {
      // What does not get its path now waits for the next coordinator, as before.
      _ = try FileStore(root: root.number, home.storePath).recover(reader)
    }
    try UploadFiles(home).sweep(reader)
    DownloadsFolder(home).sweep(keeping: try reader.transfersWithFiles())
    try deleteObjects(try reader.objectsToDelete(limit: 1000), ledger)
  }

  /// Takes files in; returns once they are on record.
  func takeIn(_ items: [IntakeItem]) throws -> IntakeReport {
    try perform {
      try $0.enqueue(items)
    } alone: { ledger in
      var report = IntakeReport()
      for case .takenIn(let part) in try apply([.takeIn(items)], ledger) { report.add(part) }
      return report
    }
  }

  /// Applies commands in one transaction; returns once it is on record.
  func apply(_ commands: [Command]) throws -> [CommandResult] {
    try perform {
      try $0.apply(commands)
    } alone: {
      try apply(commands, $0)
    }
  }

  private func apply(_ commands: [Command], _ ledger: any LedgerWriter) throws -> [CommandResult] {
    number += 1
    var exchange = Exchange(number: number)
    exchange.commands = commands
    let reply = try ledger.exchange(exchange)
    ledger.rest(isIdle: false)
    for transfer in reply.filesToDelete { DownloadsFolder(home).delete(transfer) }
    for upload in reply.uploadsToDelete { unlink("\(home.uploadsPath)/\(upload)") }
    try deleteObjects(reply.objectsToDelete, ledger)
    return reply.results
  }

  /// Deletes the objects of deleted attachments from the store, and says so to the ledger.
  private func deleteObjects(_ paths: [String], _ ledger: any LedgerWriter) throws {
    var paths = paths
    while !paths.isEmpty {
      let root = try Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY)
      let results = FileStore(root: root.number, home.storePath).delete(paths)
      number += 1
      var exchange = Exchange(number: number)
      exchange.deletedObjects = zip(paths, results).filter { $0.1 == nil }.map(\.0)
      if let error = results.lazy.compactMap(\.self).first {
        if !exchange.deletedObjects.isEmpty { _ = try ledger.exchange(exchange) }
        throw CommandError(
          .temporary,
          "\(error); the attachments are deleted, and their objects will be by the next `sluice run` or `sluice ingest` for "
            + "which that is possible")
      }
      paths = try ledger.exchange(exchange).objectsToDelete
    }
  }

  /// If the coordinator ends or disconnects meanwhile, it is looked for again: what is done once is not done again by the same
  /// command.
  private func perform<Value>(
    _ ask: (ControlClient) throws -> Value, alone: (any LedgerWriter) throws -> Value
  ) throws -> Value {
    var attempt = 0
    while true {
      attempt += 1
      switch way {
      case .ledger(let ledger, _): return try alone(ledger)
      case .coordinator(let client):
        do {
          return try ask(client)
        } catch let error as SystemError where error.code == ETIMEDOUT {
          throw LedgerError(
            .inUse,
            "the coordinator of \(home.path) does not answer (\(error)); it may be stopped, or its disk slow: run the same "
              + "command again later, what is done is not done twice")
        } catch {
          if attempt == Self.tries {
            throw LedgerError(
              .inUse,
              "the coordinator of \(home.path) did not put the last of it on record (\(error)); run the same command again, "
                + "what is done is not done twice")
          }
          usleep(Self.connecting.each)
          way = try Self.way(home, join)
        }
      }
    }
  }
}
