import CPlatform
import CWorker
import Glibc
import Pipeline
import Platform
import Scheduler
import Wire
import Workers

/// The worker of a source that fetches as the scenario has it, piece by piece, each of them synced.
final class ScriptedSource: Worker {
  static let id = "source"

  private final class Transfer {
    let work: TransferWork
    let descriptor: Int32
    var content: [UInt8]
    var position: Int
    var isHeld = false
    /// It says nothing more.
    var isStill = false

    init(_ work: TransferWork, _ descriptor: Int32, _ content: String) {
      self.work = work
      self.descriptor = dup(descriptor)
      self.content = Array(content.utf8)
      position = Int(work.start.bytes)
    }

    deinit {
      close(descriptor)
    }
  }

  private unowned let simulation: Simulation
  private let slot: UInt32
  private(set) var status = sluice_status()
  private var transfers: [UInt64: Transfer] = [:]
  private var hasEnded = false
  /// It does nothing more, and does not end.
  private var hangs = false
  private var steps = 0

  var partialResult: WorkResult? { nil }
  var excessThreads: Int? { nil }
  var lastWords: String { "" }
  func resetFlood() {}
  func cancel(_ serials: [UInt64]) {}
  func give(_ work: Work, descriptors: [Int32]) -> GiveResult { .gone }

  private var world: World { simulation.world }

  init(_ simulation: Simulation, slot: UInt32) {
    self.simulation = simulation
    self.slot = slot
    arrange(microseconds: 9000) { [self] in
      [said(.ready(Ready(sandbox: 63, bases: [nil], lengthLimits: [nil])))]
    }
  }

  private func arrange(microseconds: Int, _ body: @escaping () -> [Happening]) {
    world.arrange(microseconds: microseconds) { [weak self] in
      guard let self, !self.hasEnded, !self.hangs else { return [] }
      return body()
    }
  }

  private func said(_ message: WorkerMessage) -> Happening { .worker(slot: slot, .said(message)) }

  // MARK: The coordinator's side

  func give(_ work: TransferWork, descriptor: Int32) -> GiveResult {
    if hasEnded { return .gone }
    world.trace.note("fetch \(work.id) from \(work.start.bytes)")
    let transfer = Transfer(work, descriptor, Scenario.content(of: work.url))
    transfers[work.serial] = transfer
    simulation.begins(work)
    proceed(transfer)
    return .given
  }

  func give(_ order: TransferOrder) -> GiveResult {
    if hasEnded { return .gone }
    guard let transfer = transfers[order.serial] else { return .given }
    switch order.kind {
    case .hold: transfer.isHeld = true
    case .goOn where transfer.isHeld:
      transfer.isHeld = false
      proceed(transfer)
    case .goOn: break
    case .stop:
      transfer.isStill = true
      arrange(microseconds: 700) { [self] in answer(transfer, .retry, "stopped") }
    }
    return .given
  }

  func kill() {
    if hasEnded { return }
    world.trace.note("kill \(slot)")
    end(.crashed(signal: SIGKILL))
  }

  private func end(_ cause: WorkerDeath.Cause) {
    hasEnded = true
    let slot = slot
    world.arrange(microseconds: 500) { [.worker(slot: slot, .ended(cause))] }
  }

  // MARK: Fetching

  private func proceed(_ transfer: Transfer) {
    steps += 1
    let wait = simulation.scenario.chance.integer(200...60_000, transfer.work.id, "\(slot)", "\(steps)")
    arrange(microseconds: wait) { [self] in
      if transfer.isHeld || transfer.isStill || transfers[transfer.work.serial] == nil { return [] }
      return step(transfer)
    }
  }

  private func step(_ transfer: Transfer) -> [Happening] {
    if world.isUnder(.endpointDead) { return answer(transfer, .retry, "offline", pausesLane: true) }
    let content = Scenario.content(of: transfer.work.url)
    switch simulation.linkAct(content) {
    case .fail: return answer(transfer, .fail, "gone")
    case .reject: return answer(transfer, .reject, "too-large-to-fetch")
    case .retryOnce: return answer(transfer, .retry, "server-busy")
    case .wrong, .wrongOnce: transfer.content = transfer.content.map { $0 ^ 1 }
    case .stallOnce:
      transfer.isStill = true
      return []
    case .hangOnce:
      hangs = true
      (status.serial, status.since) = (transfer.work.serial, world.clock.monotonic())
      return []
    case .crashOnce(let isNamed):
      status.serial = isNamed ? transfer.work.serial : 0
      end(.crashed(signal: SIGSEGV))
      return [.worker(slot: slot, .closed)]
    case .fetch: break
    }
    return fetch(transfer)
  }

  /// Writes the next piece.
  private func fetch(_ transfer: Transfer) -> [Happening] {
    let count = transfer.content.count
    transfer.position = min(transfer.position, count)
    let end = min(transfer.position + 4, count)
    guard world.takesEffect("a piece of \(transfer.work.id)") else { return [] }
    transfer.content[transfer.position..<end].withUnsafeBytes { piece in
      _ = pwrite(transfer.descriptor, piece.baseAddress, piece.count, off_t(transfer.position))
    }
    if end == count { _ = ftruncate(transfer.descriptor, off_t(count)) }
    transfer.position = end
    simulation.synced(transfer.work, end)
    let progress = TransferProgress(bytes: Int64(end), total: Int64(count))
    let news = said(.news(TransferNews(serial: transfer.work.serial, .checkpoint(progress))))
    if end == count { return [news] + answer(transfer, .pass, nil) }
    proceed(transfer)
    return [news]
  }

  private func answer(
    _ transfer: Transfer, _ verdict: Verdict, _ code: String?, pausesLane: Bool = false
  ) -> [Happening] {
    guard transfers.removeValue(forKey: transfer.work.serial) != nil else { return [] }
    var result = WorkResult(serial: transfer.work.serial)
    result.report.results = [
      StageResult(index: 0, verdict: verdict, code: code, message: code, pausesLane: pausesLane)
    ]
    if verdict == .pass {
      // What a server says beside the content, with what no file may be called, and the link itself.
      let names = ["a \(transfer.work.id)", "../\(transfer.work.id)", transfer.work.url]
      let name = simulation.scenario.chance.integer(0...2, transfer.work.id, "name")
      result.report.metadata = [
        Metadatum(key: "fileName", value: .text(names[name])),
        Metadatum(key: "contentType", value: .text("text/plain")),
      ]
    }
    return [said(.result(result))]
  }
}
