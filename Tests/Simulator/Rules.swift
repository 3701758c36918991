import LedgerPort
import ModelLedger
import Pipeline
import Platform
import Scheduler
import SQLite
import Wire

/// What must hold at any time of a simulation, in each image that a crash leaves, and at the end.
final class Rules {
  private let scenario: Scenario
  private unowned let world: World
  private let oracle: Oracle

  /// How many files were reported as taken in.
  private var answered = 0
  /// Attachments that were reported as ended, with their status.
  private var told: [String: Status] = [:]
  /// Attachments whose end is on record, and deliveries that are.
  private var ended: Set<String> = []
  private var settledDeliveries: Set<String> = []
  private var deliveryIds: [Int64: String] = [:]
  /// How often each event was delivered.
  private var deliveries: [String: Int] = [:]
  /// The attempt of the last lease, and the highest that a stage has had, by attachment.
  private var leased: [String: Int] = [:]
  private var attempts: [String: Int] = [:]
  private var idOfJob: [JobKey: String] = [:]
  private var connection: Connection?
  private var statements: [String: Statement] = [:]
  private struct DueJob: Hashable {
    var lane: String
    var key: Int64
    var dueAt: Int64
  }

  /// Links of transfers, by key; and those that were fetched.
  private var urls: [Int64: String] = [:]
  private var fetched: Set<String> = []
  /// The first due job of each lane that is free, and since when it is.
  private var dueSince: [DueJob: Int] = [:]
  /// When each job may be claimed again, in milliseconds of the world, whatever its clocks say.
  private var notBefore: [JobKey: Int] = [:]
  private var watchedAt = 0
  private var ledgerAwayAt = -10_000
  private var lifeBegan = 0
  private let deeds = DeedRules()
  private let trees: TreeRules

  /// The ledger, where it is not SQLite's.
  private let model: ModelLedger?

  init(_ scenario: Scenario, _ world: World, _ model: ModelLedger?) {
    self.model = model
    self.scenario = scenario
    self.world = world
    oracle = Oracle(scenario)
    trees = TreeRules(scenario, world, oracle, deeds)
  }

  private func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { world.fail(text()) }
  }

  private func open() throws -> Connection {
    let connection = try connection ?? Connection("ledger.db")
    self.connection = connection
    return connection
  }

  private func image() throws -> LedgerImage { try model.map { try LedgerImage($0) } ?? LedgerImage(open()) }

  private func statement(_ sql: String) throws -> Statement {
    let connection = try open()
    let statement = try statements[sql] ?? connection.prepare(sql)
    statements[sql] = statement
    return statement
  }

  /// The ledger is to be closed.
  func end() {
    statements.removeAll()
    connection = nil
  }

  // MARK: As it goes

  func begin(_ life: Scenario.Life) {
    let unknown = deeds.beginLife()
    for id in unknown.attachments { forgetEnd(of: id) }
    for key in unknown.deliveries { if let id = deliveryIds[key] { settledDeliveries.remove(id) } }
    dueSince.removeAll()
    lifeBegan = world.milliseconds
  }

  func take(_ event: SchedulerEvent) {
    if world.isDead { return }
    switch event {
    case .answered(let results, let ticket) where ticket >= Operator.firstTicket:
      deeds.answered(results, ticket: ticket)
      world.trace.note("answers \(results)")
    case .answered(_, let ticket):
      answered = max(answered, Int(ticket))
      world.trace.note("taken in up to \(ticket)")
    case .ended(let record):
      world.trace.note(
        "ended \(record.origin.id) \(record.outcome.status) \(record.outcome.reason.map { "\($0.stage) \($0.code)" } ?? "")"
      )
      // It was queued again before its object had its path, which is waited for.
      if !ended.contains(record.origin.id) && deeds.mayBeRetried(record.origin.id) { return }
      expect(told[record.origin.id] == nil, "\(record.origin.id) is said to end twice")
      expect(
        ended.contains(record.origin.id), "\(record.origin.id) is said to have ended before that is on record"
      )
      told[record.origin.id] = record.outcome.status
      if let path = record.outcome.url, !world.wasUnder(.storeAway, since: lifeBegan) {
        expect(
          world.store.objects[path] != nil, "\(record.origin.id) is said to be stored before it has its path")
      }
    case .tick, .steps: break
    case .lanePaused(let lane, let reason): world.trace.note("paused \(lane): \(reason)")
    case .laneResumed(let lane): world.trace.note("resumed \(lane)")
    case .sourceAway(let reason): world.trace.note("away: \(reason.code)")
    case .staleResult: world.fail("a result came for a lease that was lost")
    default: world.trace.note("\(event)")
    }
  }

  /// A worker is given work.
  func given(_ work: Work, _ stage: String) {
    if let event = work.event {
      expect(
        !settledDeliveries.contains("\(stage) \(event.id)"),
        "event \(event.id) is delivered again after it was on record")
    } else {
      let role = scenario.pipeline.stages.first { $0.id == stage }?.description.role ?? .line
      if let flaw = deeds.flaw(ofGiving: work.origin.id, toEnd: role == .end) { world.fail(flaw) }
      expect(!ended.contains(work.origin.id), "\(work.origin.id) is worked on after its end was on record")
      attempts[work.origin.id] = max(attempts[work.origin.id] ?? 0, leased[work.origin.id] ?? 0)
    }
  }

  func delivered(_ id: String) { deliveries[id, default: 0] += 1 }

  /// An exchange is durable.
  func exchanged(_ request: Exchange, _ reply: ExchangeReply) {
    for (command, result) in zip(request.commands, reply.results) where result == .done(hasChanged: true) {
      done(command)
    }
    for (settlement, outcome) in zip(request.settlements, reply.settled) where outcome == .counted {
      switch settlement.ending {
      case .attachment(let attachment):
        expect(ended.insert(attachment.origin.id).inserted, "\(attachment.origin.id) ends twice")
        do {
          try trees.ended(attachment, open: openChildren)
        } catch {
          world.fail("\(error)")
        }
      case .delivered(let key), .deadLetter(let key, _):
        if let id = deliveryIds[key] {
          expect(settledDeliveries.insert(id).inserted, "delivery \(key) ends twice")
        }
      case .released: released(settlement.job)
      case .fetched(let key, _): fetched.insert(urls[key] ?? "")
      case .fetchAgain(_, let key): fetched.remove(urls[key] ?? "")
      case .expanded, .transferAgain, .transferRestarts, .notFetched: break
      case .again(_, let after, _, _, _), .putOff(_, let after, _, _), .deliveryAgain(_, let after, _):
        notBefore[settlement.job] = world.milliseconds + Int(after)
      }
    }
    for lease in reply.leases {
      if let time = notBefore.removeValue(forKey: lease.job), !deeds.mayHasten(lease),
        world.milliseconds < time - Self.hasteLimit
      {
        world.fail("job \(lease.job) is claimed \(time - world.milliseconds) ms before it is due")
      }
      switch lease.work {
      case .delivery(let delivery): deliveryIds[delivery.key] = "\(delivery.channel) \(delivery.id)"
      case .attachment(let attachment):
        expect(!ended.contains(attachment.origin.id), "\(attachment.origin.id) is claimed after its end")
        leased[attachment.origin.id] = lease.attempt
        idOfJob[lease.job] = attachment.origin.id
      case .transfer(let transfer):
        // Unless the last who had it was deleted.
        expect(
          !fetched.contains(transfer.link.url) || !deeds.mayBeDeleted.isEmpty,
          "\(transfer.link.url) is fetched again")
        urls[transfer.key] = transfer.link.url
      }
    }
  }

  private func openChildren(of id: String) throws -> Int {
    if let model {
      var count = 0
      try model.reader().attachments { record in
        count += record.origin.parentId == id && record.outcome.status == .queued ? 1 : 0
        return true
      }
      return count
    }
    let count = try statement(
      """
      SELECT count(*) FROM attachments c JOIN attachments p ON p.key = c.parent WHERE p.id = ?1 AND c.status = 'queued'
      """
    ).first(.text(id)) { Int($0.integer(0)) }
    return count ?? 0
  }

  /// What a person wanted is on record.
  private func done(_ command: Command) {
    deeds.done(command)
    switch command {
    case .attachment(let command) where [.retry, .reprocess].contains(command.action):
      forgetEnd(of: command.attachmentId)
    case .delivery(let command) where command.action == .retry:
      if let id = deliveryIds[command.key] { settledDeliveries.remove(id) }
    default: break
    }
  }

  /// It may have been queued again.
  private func forgetEnd(of id: String) {
    ended.remove(id)
    (told[id], attempts[id], leased[id]) = (nil, nil, nil)
  }

  func sends(_ commands: [Command], ticket: UInt64) { deeds.sends(commands, ticket: ticket) }

  /// An attempt is taken back: nothing happened that counts.
  private func released(_ job: JobKey) {
    guard let id = idOfJob[job] else { return }
    attempts[id] = min(attempts[id] ?? 0, (leased[id] ?? 1) - 1)
  }

  /// Milliseconds by which work may be done early because of a clock: less counts as the clock's own correction.
  private static let hasteLimit = 1100

  /// Milliseconds that a due job may wait for its claim.
  private static let claimLimit = 1200
  /// That a host rests which did not answer while others do.
  private static let rest = 30_000

  /// A due job of a free lane is claimed within a second: that of a link where its host has none in hand, and does not rest.
  func watch(isStopping: Bool) {
    if world.milliseconds - watchedAt < 200 && watchedAt <= world.milliseconds { return }
    watchedAt = world.milliseconds
    if model != nil { return }
    if world.isUnder(.ledgerAway) { ledgerAwayAt = world.milliseconds }
    // It is tried again each second, and may have to be asked for the fate of an exchange first.
    let isLedgerBack = world.milliseconds - ledgerAwayAt > 2500
    if isStopping || world.isUnder(.diskFull) || !isLedgerBack { return dueSince.removeAll() }
    do {
      var waiting: [DueJob] = []
      try statement(
        """
        WITH open AS (
          SELECT lane, subject, due_at, host, row_number() OVER (PARTITION BY lane ORDER BY priority DESC, subject) AS place
          FROM jobs LEFT JOIN transfers t ON kind = 'transfer' AND t.key = subject
          WHERE state = 'due' OR state = 'scheduled' AND due_at <= ?1)
        SELECT l.kind || l.name, open.subject, due_at FROM open JOIN lanes l ON l.key = open.lane WHERE place = 1
          AND lane NOT IN (SELECT lane FROM pauses)
          AND (SELECT count(*) FROM jobs WHERE state = 'leased' AND lane = open.lane)
            -- One sender may have three quarters.
            < CASE l.kind WHEN 'downloads' THEN min(?5, ?2) ELSE (3 * ?2 + 3) / 4 END
          -- One that is to be alone waits for all others, and all others for it.
          AND NOT EXISTS (SELECT 1 FROM jobs WHERE lane = open.lane AND losses >= ?3)
          AND (l.kind <> 'attachments' OR NOT ?4)
          -- Of a host that has not answered one at a time is tried.
          AND NOT EXISTS (SELECT 1 FROM jobs JOIN transfers t ON kind = 'transfer' AND t.key = subject
            WHERE state = 'leased' AND t.host = open.host)
        """
      ).rows(
        .integer(world.steady), .integer(Int64(scenario.tuning.window - deeds.gone)),
        .integer(Int64(Lease.lossesBeforeSolitude)), .integer(world.isUnder(.filesHang) ? 1 : 0),
        .integer(Int64(2 * (scenario.pipeline.downloads?.connections ?? 0) - deeds.gone))
      ) { waiting.append(DueJob(lane: $0.text(0), key: $0.integer(1), dueAt: $0.integer(2))) }
      dueSince = dueSince.filter { job, _ in waiting.contains(job) }
      for job in waiting {
        let since = dueSince[job] ?? world.awake
        dueSince[job] = since
        let wait = world.awake - since
        if wait > Self.claimLimit + (job.lane == "downloads" ? Self.rest : 0) {
          world.fail("job \(job.key) of \(job.lane) is due and waits for \(wait) ms though the lane is free")
        }
      }
    } catch {
      world.fail("\(error)")
    }
  }

  // MARK: Images and ends

  /// What was answered is in every image that a crash leaves.
  func checkImage() {
    do {
      let image = try image()
      let count = image.attachments.count { Scenario.content(ofChild: $0.fileName) == nil }
      expect(
        count + image.tombstones.count >= answered,
        "\(answered) files were taken in, and \(count) are on record, \(image.tombstones.count) deleted")
      for id in deeds.deleted.subtracting(image.tombstones).sorted() {
        world.fail("\(id) was deleted, and there is no tombstone")
      }
      for id in image.tombstones.subtracting(deeds.mayBeDeleted).sorted() {
        world.fail("\(id) is deleted, and nobody wanted that")
      }
      for id in image.attachments.map(\.id) where image.tombstones.contains(id) {
        world.fail("\(id) is deleted, and is on record")
      }
      let rows = Dictionary(image.attachments.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
      for id in told.keys.sorted() where !image.tombstones.contains(id) {
        expect(
          rows[id]?.status == told[id]?.rawValue,
          "\(id) was said to be \(told[id]?.rawValue ?? ""), and is \(rows[id]?.status ?? "gone")")
      }
      for id in ended.subtracting(image.tombstones)
      where rows[id]?.status == "queued" || rows[id] == nil {
        world.fail("the end of \(id) was durable, and is gone")
      }
      // Some have ended in a transaction whose reply was never heard.
      for id in attempts.keys.sorted() where rows[id]?.status == "queued" {
        let number = rows[id]?.attempts ?? 0
        expect(
          number >= attempts[id] ?? 0,
          "\(id) was worked on in attempt \(attempts[id] ?? 0), and \(number) are on record")
      }
      trees.check(image)
      if let damage = image.damage { world.fail("the ledger is damaged: \(damage)") }
    } catch {
      world.fail("the ledger cannot be read: \(error)")
    }
  }

  /// A coordinator ended with an error.
  func failed(_ error: any Error) {
    if world.isDead { return }
    let excuses: [Scenario.Spell.Kind] = [.diskFull, .storeAway, .ledgerAway]
    if excuses.contains(where: { world.wasUnder($0, since: lifeBegan) }) { return }
    world.fail("a coordinator ends with \(error)")
  }

  /// A coordinator has done all that it could.
  func returned(_ summary: SchedulerSummary, isLast: Bool) {
    do {
      if !summary.wasStopped && summary.pausedLanes.isEmpty && summary.awaitedPlaces.isEmpty {
        let owed = try image().jobs.count { !$0.isAside && ($0.isOfAttachment || !$0.isScheduled) }
        expect(owed == 0, "a coordinator says that all is done, and \(owed) jobs are left")
      }
      if isLast { try checkEnd(summary) }
    } catch {
      world.fail("\(error)")
    }
  }

  private func checkEnd(_ summary: SchedulerSummary) throws {
    expect(summary.pausedLanes.isEmpty, "at the end lanes are paused: \(summary.pausedLanes)")
    expect(summary.awaitedPlaces.isEmpty, "at the end sources are awaited")
    let image = try image()
    expect(image.jobs.isEmpty, "at the end \(image.jobs.count) jobs are left")
    expect(image.objectsToDelete.isEmpty, "at the end objects are to be deleted: \(image.objectsToDelete)")
    var found: [Int: Int] = [:]
    var paths: [String: String] = [:]
    for path in trees.checkEnd(image) { paths[path] = "" }
    let rows = Dictionary(image.attachments.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for attachment in image.attachments {
      let item = item(of: attachment, rows)
      if let content = Scenario.content(ofChild: attachment.fileName) {
        let verdicts = [true, false].map { oracle.verdict(content, isLink: false, meets: $0) }
        checkOutcome(attachment, content, verdicts, people: item.map(people))
      } else if let item {
        found[item.number, default: 0] += 1
        let verdicts = [true, false].map { oracle.verdict(item, meets: $0) }
        if attachment.status == "cancelled" {
          checkCancelled(
            item, attachment.id, attachment.stage, attachment.code, deliveries: attachment.deliveries)
        } else {
          checkOutcome(attachment, scenario.content(of: item), verdicts, people: people(item))
        }
      }
      if let path = attachment.url, attachment.status == "completed" {
        let content = world.store.objects[path]
        expect(content != nil, "\(attachment.id) has no object at \(path)")
        expect(
          content.map(Chance.digest) == attachment.sha256,
          "the object at \(path) is not that of \(attachment.id)")
        paths[path] = attachment.sha256
      }
    }
    var missing = 0
    for item in scenario.items {
      let count = found[item.number] ?? 0
      expect(count <= 1, "item \(item.number) is \(count) times on record")
      if count == 0 { missing += 1 }
    }
    expect(
      missing == image.tombstones.count, "\(missing) items are missing, \(image.tombstones.count) deleted")
    for attachment in image.attachments {
      guard let path = attachment.kept else { continue }
      let content = world.store.objects[path]
      expect(content != nil, "\(attachment.id) keeps no object at \(path)")
      expect(attachment.status != "completed", "\(attachment.id) is completed, and keeps an object besides")
      paths[path] = ""
    }
    for path in world.store.objects.keys.sorted() {
      expect(paths[path] != nil, "the object at \(path) belongs to no attachment")
    }
    expect(world.store.stagedContents.isEmpty, "objects are staged at the end")
    for (id, status) in image.deliveries {
      switch status {
      case "delivered": expect(deliveries[id] ?? 0 > 0, "delivery \(id) is on record, and was never made")
      case "dead": break
      case "dropped" where deeds.hasDropped: break
      default: world.fail("delivery \(id) is \(status) at the end")
      }
    }
  }

  /// The item that an attachment is of, or was taken out of; `nil`: what it was in is deleted.
  private func item(of attachment: LedgerImage.Attachment, _ rows: [String: LedgerImage.Attachment])
    -> Scenario.Item?
  {
    var root = attachment
    var levels = 0
    while levels < 100, let parent = root.parent.flatMap({ rows[$0] }) {
      root = parent
      levels += 1
    }
    let number = Int(root.fileName.drop { $0 != "#" }.dropFirst()) ?? -1
    return scenario.items.first { $0.number == number }
  }

  private func people(_ item: Scenario.Item) -> Int { Set(item.participants + ["sender"]).count }

  /// - Parameter people: how many are told; `nil`: it is not known.
  private func checkOutcome(
    _ attachment: LedgerImage.Attachment, _ content: String, _ verdicts: [Oracle.Verdict], people: Int?
  ) {
    let (id, status, stage, code) = (attachment.id, attachment.status, attachment.stage, attachment.code)
    let deliveries = attachment.deliveries
    let isTaken = scenario.template == .name && status == "rejected" && code == "path-taken"
    let isLong = status == "rejected" && code == "too-long" && stage == "line-0"
    expect(attachment.types <= 1 || deeds.mayBeRetried(id), "\(id) has told of \(attachment.types) outcomes")
    if isTaken || status == "rejected" && trees.mayBeRefused(content, code, verdicts) { return }
    let match = verdicts.filter {
      $0.status.rawValue == status && $0.stage == stage && ($0.code == code || isLong)
    }
    if match.isEmpty {
      let expected = verdicts.map { "\($0.status) \($0.stage ?? "") \($0.code ?? "")" }
      return world.fail(
        "\(attachment.fileName) (\(content)), \(id), is \(status) \(stage ?? "") \(code ?? ""), and must be "
          + expected.joined(separator: " or "))
    }
    guard let people else { return }
    if deeds.mayBeRetried(id) {
      return expect(deliveries % people == 0, "\(id) has \(deliveries) deliveries to \(people) people")
    }
    let isTold = match.contains { verdict in
      (verdict.emissions == 0) == (deliveries == 0) && deliveries % people == 0
        && deliveries / people <= verdict.emissions
    }
    expect(
      isTold,
      "\(attachment.fileName), \(id), has \(deliveries) deliveries, for \(match.map(\.emissions)) emissions to \(people) people"
    )
  }

  /// The stages at the end were told of it, whatever its content was by then.
  private func checkCancelled(
    _ item: Scenario.Item, _ id: String, _ stage: String?, _ code: String?, deliveries: Int
  ) {
    expect(deeds.mayBeCancelled(id), "\(id) is cancelled, and nobody wanted that")
    expect(stage == "sluice" && code == "cancelled", "\(id) is cancelled by \(stage ?? "") \(code ?? "")")
    if deeds.mayBeRetried(id) { return }
    let people = Set(item.participants + ["sender"]).count
    let emissions = oracle.emissionsOfCancelled(item)
    expect(
      emissions.contains { ($0 == 0) == (deliveries == 0) && deliveries <= $0 * people }
        && deliveries % people == 0,
      "\(id) is cancelled, and has \(deliveries) deliveries, for \(emissions) emissions to \(people) people")
  }
}
