import CPlatform
import Glibc
import LedgerPort
import Pipeline
import Platform
import Sealing
import Wire
import Workers

// The way of a transfer: its file is opened, the source fetches into it, a worker hashes what came, and those that wait for it go on.
extension Scheduler {
  func beginTransfer(_ flight: Flight, _ transfer: LeasedTransfer) {
    guard let definition = pipeline.downloads else { return settle(flight, .released) }
    if let name = transfer.link.credential, credentials[name] == nil {
      let reason = Reason(
        stage: TransferRun.stage, code: "unknown-credential",
        message: "the pipeline has no credential '\(name)'; add it under 'credentials', then "
          + "`sluice retry` the attachment")
      return follow(flight, .failed(reason, isRejected: false))
    }
    // Before room is looked for: a server that announces too much does not hold up other transfers.
    if let size = transfer.link.size, size > definition.maxSize {
      let reason = Reason(
        stage: TransferRun.stage, code: "too-large-to-fetch",
        message:
          "it is said to have \(ByteSize.rounded(size)), and `max-size` allows \(ByteSize.rounded(definition.maxSize))"
      )
      return follow(flight, .failed(reason, isRejected: true))
    }
    flight.progress = transfer.state
    hashedTransfers[transfer.key] = nil
    sources.add(Source(serial: flight.serial, .transfer(transfer.key, environment.downloads)))
  }

  /// Its file is open: to be written, or after the source is done to be hashed.
  func transferOpened(_ flight: Flight, _ transfer: LeasedTransfer) {
    if flight.isFetched {
      flight.hasNoWriter = sluice_has_no_writer(flight.content) == 1
      return pool.measure(flight)
    }
    if isStopping || flight.lane.pause != nil { return settle(flight, .released) }
    // What is on record is there, unless the file was taken away.
    if flight.file.size < flight.progress.bytes { flight.progress = TransferState() }
    (flight.progressAtStart, flight.received) = (flight.progress.bytes, flight.progress.bytes)
    transfers?.add(flight)
  }

  func dispatchTransfers() throws(SchedulerError) {
    guard let transfers else { return }
    let rest = try transfers.dispatch(
      slot: pool.nextSlot, inHand: lanes.downloads?.inHand ?? 0, isRoomComing: isRoomComing
    ) { work($0, transfers.definition) }
    if let (flight, why) = rest.noRoom {
      let id = flight.transfer?.attachmentId ?? ""
      let message = "\(why): make room, or give attachment \(id) up with `sluice cancel \(id)`"
      pauseTransfers(flight, Reason(stage: TransferRun.stage, code: "disk-full", message: message), .hand)
    }
    for flight in rest.givingWay {
      flight.progress = TransferState(bytes: 0, total: flight.progress.total)
      let reason = Reason(
        stage: TransferRun.stage, code: "gave-way",
        message: "the disk is full: what had come made room for another link, and it begins again")
      follow(flight, .again(after: 0, isCounted: false, reason))
    }
    for flight in rest.tooLong {
      let reason = Reason(
        stage: TransferRun.stage, code: "too-long",
        message: "its link, body and credential are too long together")
      follow(flight, .failed(reason, isRejected: false))
    }
  }

  /// Whether files of fetched contents will be deleted soon: the stages work on their attachments, or deletion has begun.
  private var isRoomComing: Bool {
    let lane = lanes.attachments
    let isAtWork = lane.pause == nil && (lane.inHand > 0 || lane.mayHaveMore)
    return sources.isRemoving || isAtWork && !fetchedFiles.isEmpty
  }

  private func work(_ flight: Flight, _ definition: DownloadsDefinition) -> TransferWork {
    guard let transfer = flight.transfer else {
      return TransferWork(serial: flight.serial, id: "", url: "", limit: 0)
    }
    let link = transfer.link
    var work = TransferWork(
      serial: flight.serial, id: "transfer-\(transfer.key)", url: link.url, limit: definition.maxSize)
    work.attempt = flight.lease.attempt
    (work.method, work.body) = (link.method, link.body.map { Array($0.utf8) })
    let state = flight.progress
    work.start = TransferProgress(
      bytes: state.bytes, total: state.total, etag: state.etag, modified: state.modified)
    (work.expectedSize, work.expectedSHA256) = (link.size, link.sha256.map(Hexadecimal.text))
    work.declaredType = link.declaredType
    if let name = credentialName(of: flight), let credential = credentials[name] {
      (work.headers, work.trustedHosts) = ([credential.header], credential.hosts)
      flight.credentialHeader = credential.header
    }
    return work
  }

  func checkTransfers() { transfers?.checkLimits() }

  // MARK: What became of it

  func take(_ outcomes: [TransferWorker.Outcome]) {
    for outcome in outcomes {
      switch outcome {
      case .news(let flight, .checkpoint(let progress)):
        if progress.bytes > flight.progress.bytes { heardHost(of: flight) }
        let wasTold = flight.progress.total != nil
        flight.progress = TransferState(
          bytes: progress.bytes, total: progress.total, etag: progress.etag, modified: progress.modified)
        if let transfer = flight.transfer {
          exchange.add(TransferCheckpoint(flight.lease, key: transfer.key, flight.progress))
        }
        if !wasTold, progress.total != nil, let transfers, transfers.lackOfRoom(for: flight) != nil {
          // It begins again once there is room for all of it, or the lane pauses.
          transfers.stop(flight)
        }
      case .news(let flight, .received(let bytes)):
        if bytes > flight.progress.bytes { heardConnection(of: flight) }
        if flight.progress.total == nil, flight.transfer?.link.size == nil, let transfers,
          transfers.lackOfRoom(for: flight) != nil
        {
          // Nobody knows how much is still to come of it.
          transfers.stop(flight)
        }
      case .answered(let flight, var said, let metadata):
        said.message = said.message.map { withoutSecrets($0, of: flight) }
        if said.verdict == .pass {
          heardHost(of: flight)
          refusals.isTaken(by: flight.host)
          flight.fetched.take(metadata) { withoutSecrets($0, of: flight) }
          measureFetched(flight)
        } else if flight.isStopAsked {
          stopped(flight)
        } else if said.code == "unauthorized", said.pausesLane, hasNewCredential(flight) {
          let reason = Reason(
            stage: TransferRun.stage, code: "unauthorized", message: "its credential was replaced meanwhile")
          follow(flight, .again(after: 0, isCounted: false, reason))
        } else {
          let mayHaveExpired =
            flight.transfer?.link.mayHaveExpired(at: environment.clock.now()) ?? false
          let next = run(flight).next(
            said, hasProgressed: flight.hasProgressed, mayHaveExpired: mayHaveExpired)
          if let next = afterSilence(flight, said, next) { follow(flight, next) }
        }
      case .died(let flight, let death, let isCulprit):
        if flight.isStopAsked {
          _ = transfers?.removeQueued(flight)
          stopped(flight)
          continue
        }
        // The others are with the next worker.
        if !isCulprit { continue }
        let reason = Reason(
          stage: TransferRun.stage, code: death.code,
          message: withoutSecrets(transfers.map { death.message(in: $0.definition.stage) } ?? "", of: flight))
        follow(
          flight, run(flight).nextAfterDeath(reason, isCulprit: true, hasProgressed: flight.hasProgressed))
      }
    }
  }

  /// What a source says may quote a server, and so the link: what of it is secret is taken out.
  private func withoutSecrets(_ text: String, of flight: Flight) -> String {
    guard let link = flight.transfer?.link else { return text }
    var secrets = [link.url, link.body ?? ""]
    let afterPlace = link.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
    secrets.append(String(afterPlace.drop { $0 != "/" && $0 != "?" && $0 != "#" }))
    secrets.append(String(afterPlace.drop { $0 != "?" }.dropFirst()))
    let headers = credentials.values.map(\.header) + (flight.credentialHeader.map { [$0] } ?? [])
    let values = headers.map { String($0.drop { $0 != ":" }.dropFirst()).trimmingSpaces }
    // A server may give back the token alone, or as a name of a host, which has no capital letters.
    let words = values.flatMap { $0.split(separator: " ").map(String.init) }.filter { $0.utf8.count >= 8 }
    secrets += values + words
    secrets += secrets.map { $0.lowercased() }
    return Redaction(secrets.filter { $0.count > 1 }.map { Secret($0) }).text(text)
  }

  // MARK: Endings

  /// It goes on later from where it is.
  private func stopped(_ flight: Flight) {
    if flight.isStalled {
      let reason = Reason(
        stage: TransferRun.stage, code: "timed-out",
        message: "nothing came for \(Interval.text(pipeline.downloads?.stage.timeout ?? 0))")
      return follow(
        flight, run(flight).nextAfterDeath(reason, isCulprit: true, hasProgressed: flight.hasProgressed))
    }
    follow(
      flight,
      .again(
        after: 0, isCounted: false,
        Reason(stage: TransferRun.stage, code: "interrupted", message: "it was stopped and goes on later")))
  }

  /// What hashes parses nothing: its end says nothing of the content.
  func hashingDied(_ death: WorkerDeath, _ flight: Flight) {
    let reason = Reason(
      stage: TransferRun.stage, code: death.code, message: "the worker that hashes what was fetched ended")
    follow(flight, .again(after: 1000, isCounted: true, reason))
  }

  func run(_ flight: Flight) -> TransferRun {
    TransferRun(
      pipeline.downloads?.retry ?? RetryPolicy(), attempt: flight.lease.counted,
      restarts: flight.transfer?.restarts ?? 0, jitter: environment.jitter())
  }

  /// The source says that all is here: a worker that parses nothing hashes what the file really holds.
  private func measureFetched(_ flight: Flight) {
    guard let transfer = flight.transfer else { return }
    flight.isFetched = true
    sources.add(
      Source(serial: flight.serial, .fetched(transfer.key, object: nil, environment.downloads)))
  }

  func applyDigest(_ report: StageReport, toTransfer flight: Flight, _ transfer: LeasedTransfer) {
    guard let said = report.results.first, said.verdict == .pass,
      case .text(let text)? = report.metadata.first(where: { $0.key == "sha256" })?.value,
      let sha256 = Hexadecimal.bytes(text), sha256.count == 32
    else {
      let code = report.results.first?.code ?? "unreadable"
      return pauseTransfers(
        flight, Reason(stage: TransferRun.stage, code: code, message: "what was fetched cannot be read"),
        .fault)
    }
    (flight.fetched.size, flight.fetched.sha256) = (flight.file.size, sha256)
    if flight.hasNoWriter {
      // Attachments follow their transfers soon.
      if hashedTransfers.count >= 10_000 { hashedTransfers.removeAll() }
      hashedTransfers[transfer.key] = flight.file
    }
    follow(
      flight,
      run(flight).next(
        size: flight.file.size, sha256: Hexadecimal.text(sha256), expectedSize: transfer.link.size,
        expectedSHA256: transfer.link.sha256.map { Hexadecimal.text($0) }))
  }

  private func follow(_ flight: Flight, _ next: TransferRun.Next) {
    guard let transfer = flight.transfer else { return }
    switch next {
    case .again(let after, let isCounted, let reason):
      settle(
        flight,
        .transferAgain(key: transfer.key, after: after, isCounted: isCounted, flight.progress, reason),
        after > 0
          ? .triedAgain(id: transfer.attachmentId, reason: reason, at: environment.clock.now() + after) : nil)
    case .restart(let reason): settle(flight, .transferRestarts(key: transfer.key, reason))
    case .pause(let reason, _) where reason.code == "unauthorized" && isLinkAloneRefused(flight):
      let alone = Reason(
        stage: reason.stage, code: reason.code, message: "\(place(of: flight)) answered this link with 401")
      settle(flight, .notFetched(key: transfer.key, alone, isRejected: false))
    case .pause(let reason, let needsHand):
      pauseTransfers(
        flight, reason, needsHand ? .hand : .fault,
        after: reason.code == "unauthorized" ? Self.standBack.refused : 0)
    case .failed(let reason, let isRejected):
      settle(flight, .notFetched(key: transfer.key, reason, isRejected: isRejected))
    case .fetched:
      lanes.attachments.addDue()
      fetchedFiles.insert(transfer.key)
      settle(flight, .fetched(key: transfer.key, flight.fetched))
    }
  }

  /// The lane stops; the transfer goes on from its checkpoint once it goes on. The others in hand are stopped likewise.
  func pauseTransfers(
    _ flight: Flight, _ reason: Reason, _ cause: Pause.Cause, after: Int64 = 0
  ) {
    guard let transfer = flight.transfer else { return }
    let refused = reason.code == "unauthorized" ? credentialName(of: flight) : nil
    var reason = reason
    if let refused {
      if let why = unusable[refused] {
        reason.message += "; the credential '\(refused)' could not be read again: \(why)"
      }
      // The one link may be what is refused, and not the credential.
      reason.message +=
        "; it was asked for attachment \(transfer.attachmentId): renew the credential, or give that up with `sluice cancel "
        + "\(transfer.attachmentId)`, then `sluice resume downloads`"
    }
    let held = reason.code == "disk-full" ? environment.downloads.held : 0
    if held >= 1 << 20 {
      reason.message +=
        "; \(ByteSize.rounded(held)) there are of links that are not done: `sluice downloads` shows them, `sluice cancel ID` gives "
        + "one up"
    }
    pause(flight.lane, reason, cause, credential: refused.flatMap { credentials[$0] })
    settle(
      flight, .transferAgain(key: transfer.key, after: after, isCounted: false, flight.progress, reason))
    if Connectivity.isAway(reason.code) { environment.watchNetwork() } else { stopTransfers() }
  }

  /// Gives back what was not begun, and has the source end the others: they go on from where they are.
  func stopTransfers() {
    guard let transfers else { return }
    for flight in transfers.removeAllQueued() { settle(flight, .released) }
    for flight in transfers.underway.values { transfers.stop(flight) }
  }

  /// The attachment waits until its link is fetched once more.
  func fetchAgain(_ flight: Flight, _ transfer: Int64) {
    guard let attachment = flight.attachment else { return }
    lanes.downloads?.addDue()
    settle(flight, .fetchAgain(key: attachment.key, transfer: transfer))
  }

  /// Gives back what was not begun.
  func releaseWaitingTransfers() {
    for flight in transfers?.removeAllQueued() ?? [] { settle(flight, .released) }
  }

  /// Something is asked for before all others: a network that is away is tried for it at once.
  func makeWayForUrgent() {
    releaseWaitingTransfers()
    if let lane = lanes.downloads, Connectivity.isAway(lane.pause?.code ?? "") { resume(lane) }
  }

  /// A command has made it more or less urgent: others stand still for it, or go on.
  func prioritizeTransfer(_ change: TransferPriority) {
    guard let flight = flights.values.first(where: { $0.transfer?.key == change.key }) else { return }
    flight.lease.priority = change.priority
    transfers?.holdOthers()
  }

  /// No attachment waits for it any more.
  func stopTransfer(_ key: Int64) {
    guard let transfers, let flight = flights.values.first(where: { $0.transfer?.key == key }) else { return }
    if transfers.removeQueued(flight) { settle(flight, .released) } else { transfers.stop(flight) }
  }

  func dropFiles(_ paths: [String]) {
    if !paths.isEmpty { sources.add(Source(serial: 0, .removal(paths))) }
  }

  /// Has the file of an upload deleted whose attachment is completed. It has its object now.
  func dropUpload(_ source: [UInt8]) {
    guard UploadRecord.isId(source.suffix(32)), source.dropLast(32).last == UInt8(ascii: "/") else { return }
    sources.add(Source(serial: 0, .upload(source, in: environment.uploads)))
  }

  /// Its source fault, where it could not be opened.
  func transferNotOpened(_ flight: Flight, _ fault: SourceFault) {
    let reason = Reason(stage: TransferRun.stage, code: fault.reason.code, message: fault.reason.message)
    if fault.remedy == .fetchAgain {
      // A person has taken the file away before it was hashed.
      flight.progress = TransferState()
      return follow(flight, .again(after: 0, isCounted: true, reason))
    }
    pauseTransfers(flight, reason, fault.reason.code == "disk-full" ? .hand : .fault)
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

extension FetchedContent {
  /// The longest name and type that are taken, in bytes.
  private static let textLimit = 255

  /// Takes what the source says of name and type. The worker is not trusted: a name that is none is left out.
  fileprivate mutating func take(_ metadata: [Metadatum], _ withoutSecrets: (String) -> String) {
    for datum in metadata {
      guard case .text(var text) = datum.value, (1...Self.textLimit).contains(text.utf8.count),
        !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
      else { continue }
      text = withoutSecrets(text)
      switch datum.key {
      case "fileName" where !text.utf8.contains(UInt8(ascii: "/")) && text != "." && text != "..":
        fileName = text
      case "contentType": contentType = text
      default: break
      }
    }
  }
}

extension Flight {
  var transfer: LeasedTransfer? {
    if case .transfer(let transfer) = lease.work { transfer } else { nil }
  }

  /// Synced bytes came in this attempt, and not so few that as many requests as there are could go on for ever.
  var hasProgressed: Bool { progress.bytes - progressAtStart >= Self.leastProgress }

  private static let leastProgress: Int64 = 64 << 10
}
