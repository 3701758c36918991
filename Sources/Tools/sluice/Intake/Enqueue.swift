import Control
import Glibc
import HomeFolder
import LedgerPort
import Manifest
import Platform

/// `sluice enqueue`: queues files, and leaves the work to a coordinator.
struct Enqueue: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "enqueue", abstract: "Queue files for `sluice run`, or for the next ingest.", arguments: "PATH…",
    discussion: """
      Takes the same input as `sluice ingest`. When it ends with 0, all files are on record, safe from a power cut. A
      running `sluice run` begins with them at once; without one they wait. Lines that come through a pipe are handed
      over as they come. It hands files to a home that is there: without --home and $SLUICE_HOME it makes none. With
      --format json it prints the id of each file, and the `reference` that the manifest gives it.
      """,
    options: [.home] + IntakeArguments.options + [
      CommandOption(
        name: "wait",
        help: "Return when all of them have ended: 0 if all are completed, or deleted, else 1."),
      CommandOption(
        name: "timeout", value: "10m", help: "Wait at most so long; then end with 75. They stay in the queue."
      ),
      .format, .quiet, .noColor,
    ],
    example: "sluice enqueue --conversation c1 --sender anna --participants anna,ben report.pdf")

  private let arguments: ParsedArguments
  private let input: IntakeArguments
  /// In milliseconds; `nil`: without limit.
  private let timeout: Int64?

  private let waits: Bool

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try self.init(arguments, of: "enqueue", waits: arguments.flag("wait"))
  }

  /// - Parameter command: as the user called it.
  init(_ arguments: ParsedArguments, of command: String, waits: Bool) throws(CommandError) {
    self.arguments = arguments
    self.waits = waits
    input = try IntakeArguments(arguments, of: command)
    timeout = try arguments.duration("timeout")
    if timeout != nil && !waits {
      throw .usage("option '--timeout' is for --wait; add it, or leave --timeout out")
    }
  }

  func run() throws -> ExitCode {
    let started = Clock.monotonic()
    let manifest = try input.reader()
    let home = try home()
    let report = EnqueueReport(arguments, home, manifest: manifest?.name)
    guard let wait = try handOver(manifest, home, report) else {
      return report.problems.count == 0 ? .success : .incomplete
    }
    report.beginWait(for: wait.open)
    var told: Set<String> = []
    try wait.wait(
      until: timeout.map { started + UInt64($0) * 1_000_000 },
      standing: { status in
        // Who asks attends: some pipelines fetch links only meanwhile.
        let workers = ControlClient.workersAtWork(home, within: Self.patience, isAttending: true)
        report.show(workers?.downloads)
        if status.lanes.contains(where: { $0.notPrefetched > 0 }) { Self.ask(for: wait, home) }
        for hindrance in Self.hindrances(status, home) where told.insert(hindrance).inserted {
          report.note(hindrance)
        }
      }, each: { report.add($0) })
    report.end(wait)
    if wait.open > 0 { return .temporary }
    return wait.notCompleted == 0 && report.problems.count == 0 ? .success : .incomplete
  }

  /// Who waits for links asks for them. Where that fails, it is tried again.
  private static func ask(for wait: EndWait, _ home: Home) {
    guard let ids = try? wait.unasked(), !ids.isEmpty, let desk = try? CommandDesk(home) else { return }
    for first in stride(from: 0, to: ids.count, by: 500) {
      let commands = ids[first..<min(first + 500, ids.count)].map {
        Command.attachment(AttachmentCommand($0, .prioritize(TransferPriority.asked), only: [.queued]))
      }
      _ = try? desk.apply(commands)
    }
  }

  /// Milliseconds for which a coordinator is waited for.
  private static let patience: Int32 = 200

  /// Why what is waited for may not end, with what to do; each is told once.
  private static func hindrances(_ status: LedgerStatus, _ home: Home) -> [String] {
    if !home.isInUse {
      return ["no coordinator works on \(home.path); waiting for `sluice run` or an ingest to do so"]
    }
    return status.lanes.compactMap { lane in
      lane.pause.map {
        let way =
          $0.cause == .fault ? "it is tried again by itself" : "`sluice resume \(lane.name)` lets it go on"
        return "\(lane.name) is paused: \(Terminal.printable($0.reason)); \(way)"
      }
    }
  }

  /// Hands over what is named. The home is free for others when it returns.
  ///
  /// - Returns: what waits for the end of all of it, with --wait.
  private func handOver(
    _ manifest: ManifestReader?, _ home: Home, _ report: EnqueueReport
  ) throws -> EndWait? {
    let isNew = Environment.lacksLedger(home)
    let desk = try CommandDesk(home)
    if isNew && desk.isAlone && !arguments.flag("quiet") {
      Terminal.error("made a new home at \(home.path)")
    }
    let wait = waits ? try EndWait(home) : nil
    var failure: (any Error)?
    let walker = InputWalker(
      defaults: input.defaults, bound: input.bound, home: home,
      send: { items in
        do {
          let answer = try desk.takeIn(items)
          report.add(items, answer)
          for case .added(let id) in answer.outcomes { wait?.add(id, isKnown: false) }
          for case .known(let id) in answer.outcomes { wait?.add(id, isKnown: true) }
          for case .deleted(let id) in answer.outcomes { wait?.addDeleted(id) }
          return true
        } catch {
          failure = error
          return false
        }
      }, problem: { report.add($0) })
    if let manifest { walker.read(manifest) } else { walker.walk(input.paths) }
    report.endHandingOver()
    if let failure { throw failure }
    if wait == nil && report.added > 0 { desk.tellWhatStands(arguments) }
    return wait
  }

  /// The home to use: one named by the user, or an existing one. In a wrong folder no home is created.
  private func home() throws(CommandError) -> Home {
    let home = Environment.home(arguments)
    if !Environment.namesHome(arguments) && Environment.lacksLedger(home) && !home.isInUse {
      throw .usage(
        "\(home.path) has no ledger, and enqueue hands files to a home that is there; run `sluice ingest` or `sluice run` "
          + "here once, or name the home with --home DIR")
    }
    return home
  }
}
