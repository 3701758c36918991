import CPlatform
import CSQLite
import Foundation
import Glibc
import LedgerPort
import LedgerSQLite
import MemoryDisk
import ModelLedger
import Objects
import Pipeline
import Platform
import Scheduler
import SQLite
import Wire
import Workers

/// Runs a scenario: coordinators one after the other on one ledger and one store, each ended as the scenario has it, and at last
/// one that nothing disturbs.
final class Simulation {
  let scenario: Scenario
  let world: World
  let trace: Trace
  let rules: Rules
  let folder: String
  private var ledger: (any LedgerWriter)?
  private var person: Operator?
  private let model: ModelLedger?
  // How often each was asked for.
  private var exchanges = 0
  private var opened = 0
  var batches = 0
  var writtenContents = 0
  /// Coordinators that were killed, or lost their power.
  private(set) var crashes = 0
  private var scheduler: Scheduler?
  /// What stages have met.
  private var met: Set<String> = []
  /// Bytes that are safe of the files of transfers, by name.
  private var syncedBytes: [String: Int] = [:]
  /// When the last file of a transfer is open, in nanoseconds.
  private var lastOpening: UInt64 = 0
  /// Contents that were measured, by digest.
  private var contents: [String: String] = [:]
  private var failedStarts: [String: Int] = [:]
  private(set) var isStopping = false

  static let digest = StageDescription(id: "digest", version: "1", summary: "", file: "")
  private static let ledgerPath = "ledger.db"

  /// - Parameter folder: where the items' files are made, on a file system in memory at best.
  init(_ scenario: Scenario, in folder: String, _ trace: Trace) throws {
    self.scenario = scenario
    self.trace = trace
    self.folder = folder
    world = World(scenario, trace)
    trace.world = world
    let clock = world.clock
    // A coordinator has ended before the next begins, so that it is lost at once.
    model = scenario.isOnModel ? ModelLedger(patience: -1, clock: clock.sinceBoot) : nil
    rules = Rules(scenario, world, model)
    try makeFiles()
  }

  /// Runs it. What is broken stands in ``World/flaws`` then.
  func run() {
    nonisolated(unsafe) let world = world
    memory_disk_format()
    memory_disk_register(
      { context in
        guard let context else { return SQLITE_OK }
        let world = Unmanaged<World>.fromOpaque(context).takeUnretainedValue()
        if world.isUnder(.diskFull) && !world.isDead { return SQLITE_FULL }
        if world.isUnder(.ledgerAway) && !world.isDead && world.strikes() { return SQLITE_IOERR }
        return world.takesEffect("a write") ? SQLITE_OK : SQLITE_IOERR
      }, Unmanaged.passUnretained(world).toOpaque())
    for life in scenario.lives where world.flaws.isEmpty { live(life) }
    if world.flaws.isEmpty { live(Scenario.Life(number: 1000, end: .done, isResident: false), isLast: true) }
  }

  // MARK: Files

  private func makeFiles() throws {
    let manager = FileManager.default
    try? manager.removeItem(atPath: folder)
    try? manager.removeItem(atPath: folder + ".away")
    try? manager.removeItem(atPath: downloads)
    try? manager.removeItem(atPath: uploads)
    try manager.createDirectory(atPath: uploads, withIntermediateDirectories: true)
    try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for item in scenario.items {
      try Data(scenario.content(of: item).utf8).write(to: URL(fileURLWithPath: source(of: item)))
    }
  }

  var uploads: String { folder + ".uploads" }
  private var downloads: String { folder + ".downloads" }

  private func source(of item: Scenario.Item) -> String { "\(folder)/\(item.number)" }

  /// The folder of the items is away while the weather has it.
  private func placeFolder() {
    let away = world.isUnder(.folderAway)
    let isAway = access(folder, F_OK) != 0
    if away == isAway { return }
    rename(away ? folder : folder + ".away", away ? folder + ".away" : folder)
  }

  // MARK: A coordinator's life

  private func live(_ life: Scenario.Life, isLast: Bool = false) {
    if isLast { world.clearUp() }
    world.begin(life)
    isStopping = false
    failedStarts.removeAll()
    rules.begin(life)
    placeFolder()
    var random = SplitMix(state: scenario.seed ^ UInt64(life.number) << 32)
    nonisolated(unsafe) let fill = { (room: UnsafeMutableRawBufferPointer) in
      for index in room.indices { room[index] = UInt8(truncatingIfNeeded: random.next()) }
    }
    do {
      let ids = UUIDv7Generator(clock: world.clock, fill: { fill($0) })
      let (ledger, queries) = try join(ids)
      self.ledger = ledger
      let person = Operator(scenario, world, rules, queries, before: self.person)
      self.person = person
      rules.checkImage()
      var pipeline = scenario.pipeline
      // At the end all that nobody asked for is fetched, too.
      if isLast { pipeline.downloads?.prefetch = nil }
      let scheduler = Scheduler(
        pipeline, digest: Self.digest, ledger: queries, home: "the home", processors: 2,
        isIntakeOver: false, environment())
      self.scheduler = scheduler
      let summary = try scheduler.run(
        isResident: life.isResident, deliveryPatience: isLast ? 100 * 3_600_000 : 0
      ) { [self] in rules.take($0) }
      trace.note(
        "returns, stopped \(summary.wasStopped), paused \(summary.pausedLanes.map(\.lane)), awaits \(summary.awaitedPlaces.count)"
      )
      if !world.isDead { rules.returned(summary, isLast: isLast) }
    } catch {
      trace.note("ends: \(error)")
      rules.failed(error)
    }
    rules.end()
    scheduler = nil
    ledger = nil
    person?.end()
    if world.isDead { crashes += 1 }
    let isPowerLost = if case .powerLost = life.end { world.isDead } else { false }
    let seed = UInt64(scenario.chance.integer(0...1 << 30, "loss", "\(life.number)"))
    world.end()
    world.store.endLife(lost: isPowerLost ? Int(seed % 30) : 0)
    if isPowerLost { loseUnsynced() }
    if isPowerLost { memory_disk_lose_power(seed) } else { memory_disk_end_process() }
  }

  private func join(_ ids: UUIDv7Generator) throws -> (any LedgerWriter, any LedgerQueries) {
    guard let model else {
      let ledger = try SQLiteLedger(path: Self.ledgerPath, clock: world.clock, ids: ids)
      ledger.sealer = PlainSealer()
      return (ledger, ledger)
    }
    let writer = try model.join("host", ids: ids)
    writer.fault = { [unowned self] in
      guard world.takesEffect("an exchange") else { return .lostRequest }
      return world.isUnder(.ledgerAway) && world.strikes() ? world.fault() : .none
    }
    writer.whenDone = { [unowned self] in rules.exchanged($0, $1) }
    return (writer, model.reader())
  }

  // MARK: The scheduler's environment

  private func environment() -> SchedulerEnvironment {
    var draws = 0
    let life = world.life?.number ?? 0
    var items = scenario.items.map(item)
    let size = scenario.chance.integer(1...20, "batch")
    var isFinished = false
    var environment = SchedulerEnvironment(
      clock: world.clock,
      jitter: { [scenario] in
        draws += 1
        return Double(scenario.chance.integer(0...1000, "jitter", "\(life)", "\(draws)")) / 1000
      },
      store: world.store, descriptorLimit: 1 << 20,
      startWorker: { [unowned self] slot, setup, _ in
        trace.note("start \(setup.stages.map(\.id)) as \(slot)")
        if setup.stages[0].id == ScriptedSource.id { return ScriptedSource(self, slot: slot) }
        return ScriptedWorker(self, slot: slot, setup)
      },
      awaitWritable: { _, _ in }, exchange: { [unowned self] in exchange($0) },
      open: { [unowned self] in open($0) }, publish: { [unowned self] in publish($0) },
      delete: { [unowned self] in delete($0) },
      nextBatch: { [unowned self] in
        if let batch = person?.next() { return batch }
        if isFinished { return nil }
        if items.isEmpty { isFinished = true }
        let batch = Array(items.prefix(size))
        items.removeFirst(batch.count)
        return Intake.Batch(
          batch.isEmpty ? [] : [.takeIn(batch)], ticket: UInt64(scenario.items.count - items.count))
      },
      lostPlace: { nil },
      wait: { [unowned self] milliseconds throws(SystemError) in
        placeFolder()
        rules.watch(isStopping: isStopping)
        let happenings = try world.wait(milliseconds)
        if happenings.contains(where: { if case .signal = $0 { true } else { false } }) { isStopping = true }
        return happenings
      },
      close: { _ in })
    environment.tuning = scenario.tuning
    environment.uploads = uploads
    environment.stage = { [unowned self] in stage($0) }
    environment.downloads = DownloadsFolder(path: downloads, store: folder + ".nowhere")
    return environment
  }

  private func open(_ sources: [Source]) {
    let hangs = world.rest(of: .filesHang)
    for source in sources {
      opened += 1
      var wait = hangs + scenario.chance.integer(10...900, "open", "\(opened)")
      if !source.isFile {
        // One after the other: to delete one and then to make it again is not the other way round.
        lastOpening = max(world.time + UInt64(wait) * 1000, lastOpening + 1000)
        wait = Int((lastOpening - world.time) / 1000)
      }
      world.arrange(microseconds: wait) { [self] in
        placeFolder()
        return [.opened(serial: source.serial, open(source))]
      }
    }
  }

  /// An object lies in the simulated store: it is read from a file of its own.
  private func open(_ source: Source) -> Source.Opening {
    guard case .object(let path, _, _) = source.kind else { return source.open() }
    guard !world.isUnder(.storeAway), let content = world.store.objects[path] else {
      return .failed(SourceFault("object-missing", "there is no object", .retry))
    }
    let file = folder + ".object"
    _ = FileManager.default.createFile(atPath: file, contents: Data(content.utf8))
    defer { unlink(file) }
    let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC)
    var facts = stat()
    guard descriptor >= 0, fstat(descriptor, &facts) == 0 else {
      return .failed(SourceFault("unreadable", file, .fail))
    }
    return .opened(descriptor, FileState(facts))
  }

  private func publish(_ batch: [StagedObject]) {
    batches += 1
    world.arrange(
      microseconds: world.rest(of: .filesHang) + scenario.chance.integer(10...9000, "publish", "\(batches)")
    ) { [self] in
      let results = batch.map { object in
        do throws(SystemError) {
          try world.store.publish(object)
          return SystemError?.none
        } catch {
          return error
        }
      }
      return world.isDead ? [] : [.published(results)]
    }
  }

  private func delete(_ paths: [String]) {
    batches += 1
    world.arrange(
      microseconds: world.rest(of: .filesHang) + scenario.chance.integer(10...9000, "delete", "\(batches)")
    ) { [self] in
      let results = world.store.delete(paths)
      return world.isDead ? [] : [.deleted(results)]
    }
  }

  private func item(_ item: Scenario.Item) -> IntakeItem {
    let content = scenario.content(of: item)
    if scenario.isLink(item) {
      var link = IntakeItem(
        conversationId: item.conversation, messageId: "message-\(item.number)", senderId: "sender",
        participants: item.participants, fileName: item.fileName, priority: item.priority,
        origin: "item \(item.number)")
      link.url = scenario.url(of: item)
      link.linkScope = scenario.user(of: item)
      if scenario.isAnnounced(content) { link.sha256 = Chance.digest(of: content) }
      return link
    }
    return IntakeItem(
      conversationId: item.conversation, messageId: nil, senderId: "sender", participants: item.participants,
      fileName: item.fileName, source: Array(source(of: item).utf8), sourceSize: Int64(content.utf8.count),
      sourceModified: 0, priority: item.priority, origin: "item \(item.number)")
  }

  private func exchange(_ request: LedgerRequest) {
    exchanges += 1
    trace.note("exchange \(exchanges): \(request.words)")
    let number = exchanges
    let latency = scenario.chance.integer(300...9000, "exchange", "\(number)")
    world.arrange(microseconds: latency / 2) { [self] in
      guard let ledger, !world.isDead else { return [] }
      let answer = request.ask(ledger)
      if world.isDead { return [] }
      if model == nil, case .success(let reply?) = answer { rules.exchanged(request.exchange, reply) }
      world.arrange(microseconds: latency / 2) { [.replied(answer)] }
      ledger.rest(isIdle: number % 7 == 0)
      return []
    }
  }

  // MARK: Transfers

  /// A power loss takes what was not synced.
  private func loseUnsynced() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: downloads)) ?? [] {
      let path = "\(downloads)/\(name)"
      var facts = stat()
      if stat(path, &facts) == 0 { truncate(path, min(facts.st_size, off_t(syncedBytes[name] ?? 0))) }
    }
  }

  private func file(of work: TransferWork) -> String { "\(work.id.dropFirst("transfer-".count)).part" }

  func begins(_ work: TransferWork) {
    if work.start.bytes == 0 { syncedBytes[file(of: work)] = 0 }
  }

  func synced(_ work: TransferWork, _ bytes: Int) { syncedBytes[file(of: work)] = bytes }

  /// What the source does with the content of a link now: what it does once, it does when it meets it first.
  func linkAct(_ content: String) -> LinkAct {
    let act = scenario.linkAct(content)
    if [.fetch, .fail, .reject, .wrong].contains(act) { return act }
    return met.insert("the link of \(content)").inserted ? act : .fetch
  }

  // MARK: What workers ask

  func measure(_ content: String) -> String {
    let digest = Chance.digest(of: content)
    contents[digest] = content
    return digest
  }

  /// The content that a stage gets to know by its hash alone, or before it was measured.
  func content(of work: Work) -> String {
    if let content = work.sha256.flatMap({ contents[$0] }) { return content }
    if let content = Scenario.content(ofChild: work.origin.fileName) { return content }
    let number = Int(work.origin.fileName.drop { $0 != "#" }.dropFirst()) ?? -1
    return scenario.items.first { $0.number == number }.map(scenario.content) ?? ""
  }

  func mayFailStart(_ stage: String) -> Bool {
    failedStarts[stage, default: 0] += 1
    return failedStarts[stage, default: 0] == 1
  }

  func noteGiven(_ work: Work, _ stages: [StageDefinition]) {
    trace.note(
      "give \(stages[work.first].id) to \(stages[work.end - 1].id) \(work.event?.id ?? work.origin.id) attempt \(work.attempt)"
    )
    rules.given(work, stages[work.first].id)
  }

  /// What a stage does with a content. One that fails once does so when it meets it first.
  func act(_ stage: StageDefinition, _ content: String, meets: Bool) -> Act {
    if let limit = scenario.lengthLimit(stage), content.utf8.count > limit.bytes { return .reject }
    let act = scenario.act(stage, content)
    if act != .crashOnce && !act.isRetry { return act }
    return met.insert("\(stage.id) \(content)").inserted ? act : .pass
  }

  func path(of work: Work, _ content: String) -> String {
    switch scenario.template {
    case .content: "objects/\(Chance.digest(of: content))"
    case .attachment: "objects/\(work.origin.id)"
    case .name: "objects/\(work.origin.fileName.prefix { $0 != "#" })"
    }
  }

  /// Delivers an event. `nil`: the worker crashes.
  func deliver(_ event: Work.Event, on channel: String, _ index: Int) -> StageResult? {
    func result(_ verdict: Pipeline.Verdict, pausesLane: Bool = false) -> StageResult {
      StageResult(index: index, verdict: verdict, code: "delivery", message: "no", pausesLane: pausesLane)
    }
    if world.isUnder(.endpointDead) {
      return result(.retry, pausesLane: scenario.chance.oneIn(2, channel, "pauses"))
    }
    let isFirst = met.insert("\(channel) \(event.id)").inserted
    switch scenario.chance.integer(0...19, channel, event.recipient, event.type) {
    case 0 where isFirst: return nil
    case 1...3 where isFirst: return result(.retry)
    case 4: return result(.reject)
    default: break
    }
    guard world.takesEffect("deliver") else { return result(.pass) }
    rules.delivered(event.id)
    return result(.pass)
  }
}

extension LedgerRequest {
  /// What is asked, or asked about.
  var exchange: Exchange {
    switch self {
    case .exchange(let exchange), .fate(let exchange): exchange
    }
  }

  fileprivate var words: String {
    let new = exchange.commands.reduce(0) { count, command in
      if case .takeIn(let items) = command { count + items.count } else { count }
    }
    let isFate = if case .fate = self { "the fate of " } else { "" }
    return "\(isFate)\(new) new, \(exchange.settlements.count) settled, wants "
      + "\(exchange.wanted.map { "\($0.lane) \($0.count)" }), asks \(exchange.contents.count)"
  }
}

extension Source {
  fileprivate var isFile: Bool { if case .file = kind { true } else { false } }
}
