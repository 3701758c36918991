import CPlatform
import LedgerPort
import Pipeline
import Platform
import Sealing
import Wire
import Workers

// Results of transfers.
extension TransferLine {
  func take(_ outcomes: [TransferWorker.Outcome]) {
    for outcome in outcomes {
      switch outcome {
      case .news(let flight, .checkpoint(let progress)):
        if progress.bytes > flight.fetch.progress.bytes { heardHost(of: flight) }
        let wasTold = flight.fetch.progress.total != nil
        flight.fetch.progress = TransferState(
          bytes: progress.bytes, total: progress.total, etag: progress.etag, modified: progress.modified)
        if let transfer = flight.transfer {
          loop.exchange.add(TransferCheckpoint(flight.lease, key: transfer.key, flight.fetch.progress))
        }
        if !wasTold, progress.total != nil, worker.lackOfRoom(for: flight) != nil {
          // The length came from the host, which answers: other links of the host may fit.
          heardConnection(of: flight)
          // It begins again once there is room for all of it, or the lane pauses.
          worker.stop(flight)
        }
      case .news(let flight, .received(let bytes)):
        if bytes > flight.fetch.progress.bytes { heardConnection(of: flight) }
        if flight.fetch.progress.total == nil, flight.transfer?.link.size == nil,
          worker.lackOfRoom(for: flight) != nil
        {
          // Nobody knows how much is still to come of it.
          worker.stop(flight)
        }
      case .answered(let flight, var said, let metadata):
        said.message = said.message.map { withoutSecrets($0, of: flight) }
        if said.verdict == .pass {
          heardHost(of: flight)
          refusals.isTaken(by: flight.host)
          // The closure reads the state of the transfer, too.
          var fetched = flight.fetch.fetched
          fetched.take(metadata) { withoutSecrets($0, of: flight) }
          flight.fetch.fetched = fetched
          measureFetched(flight)
        } else if flight.fetch.isStopAsked {
          stopped(flight)
        } else if said.code == "unauthorized", said.pausesLane, hasNewCredential(flight) {
          let reason = Reason(
            stage: TransferRun.stage, code: "unauthorized", message: "its credential was replaced meanwhile")
          follow(flight, .again(after: 0, isCounted: false, reason))
        } else {
          let mayHaveExpired =
            flight.transfer?.link.mayHaveExpired(at: environment.clock.now()) ?? false
          let next = run(flight).next(
            said, hasProgressed: flight.fetch.hasProgressed, mayHaveExpired: mayHaveExpired)
          if let next = afterSilence(flight, said, next) { follow(flight, next) }
        }
      case .died(let flight, let death, let isCulprit):
        if flight.fetch.isStopAsked {
          _ = worker.removeQueued(flight)
          stopped(flight)
          continue
        }
        // The next worker has the other transfers.
        if !isCulprit { continue }
        let reason = Reason(
          stage: TransferRun.stage, code: death.code,
          message: withoutSecrets(death.message(in: definition.stage), of: flight))
        follow(
          flight,
          run(flight).nextAfterDeath(reason, isCulprit: true, hasProgressed: flight.fetch.hasProgressed))
      }
    }
  }

  /// Takes the secrets of a link out of a source's text, which may quote the server.
  private func withoutSecrets(_ text: String, of flight: Flight) -> String {
    guard let link = flight.transfer?.link else { return text }
    var secrets = [link.url, link.body ?? ""]
    let afterPlace = link.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
    secrets.append(String(afterPlace.drop { $0 != "/" && $0 != "?" && $0 != "#" }))
    secrets.append(String(afterPlace.drop { $0 != "?" }.dropFirst()))
    let headers = credentials.values.map(\.header) + (flight.fetch.credentialHeader.map { [$0] } ?? [])
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
    if flight.fetch.isStalled {
      let reason = Reason(
        stage: TransferRun.stage, code: "timed-out",
        message: "nothing came for \(Interval.text(definition.stage.timeout))")
      return follow(
        flight, run(flight).nextAfterDeath(reason, isCulprit: true, hasProgressed: flight.fetch.hasProgressed)
      )
    }
    follow(
      flight,
      .again(
        after: 0, isCounted: false,
        Reason(stage: TransferRun.stage, code: "interrupted", message: "it was stopped and goes on later")))
  }

  /// The worker that hashes parses nothing, so its death says nothing about the content.
  func workerDied(
    _ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup, _ index: Int, microseconds: Int64,
    after report: StageReport?
  ) {
    hashingFailed(flight, death.code, "the worker that hashes what was fetched ended")
  }

  func refuse(_ flight: Flight) {
    hashingFailed(flight, "too-long", "what is known of it does not fit into a frame")
  }

  private func hashingFailed(_ flight: Flight, _ code: String, _ message: String) {
    let reason = Reason(stage: TransferRun.stage, code: code, message: message)
    follow(flight, .again(after: 1000, isCounted: true, reason))
  }

  func settled(_ settlement: PendingSettlement, _ outcome: SettlementOutcome) {
    loop.close(settlement, outcome)
  }

  func run(_ flight: Flight) -> TransferRun {
    TransferRun(
      definition.retry, attempt: flight.lease.counted,
      restarts: flight.transfer?.restarts ?? 0, jitter: environment.jitter())
  }

  /// The source says that all is here: a worker that parses nothing hashes what the file really holds.
  private func measureFetched(_ flight: Flight) {
    guard let transfer = flight.transfer else { return }
    flight.fetch.isFetched = true
    loop.sources.add(
      Source(serial: flight.serial, .fetched(transfer.key, object: nil, environment.downloads)))
  }

  /// The content is hashed.
  func apply(_ report: StageReport, to flight: Flight, from group: WorkerGroup) {
    guard let transfer = flight.transfer, let said = report.results.first, said.verdict == .pass,
      case .text(let text)? = report.metadata.first(where: { $0.key == "sha256" })?.value,
      let sha256 = Hexadecimal.bytes(text), sha256.count == 32
    else {
      let code = report.results.first?.code ?? "unreadable"
      return pauseLane(
        flight, Reason(stage: TransferRun.stage, code: code, message: "what was fetched cannot be read"),
        .fault)
    }
    (flight.fetch.fetched.size, flight.fetch.fetched.sha256) = (flight.file.size, sha256)
    if flight.hasNoWriter { keep(transfer.key, hashedAs: flight.file) }
    follow(
      flight,
      run(flight).next(
        size: flight.file.size, sha256: Hexadecimal.text(sha256), expectedSize: transfer.link.size,
        expectedSHA256: transfer.link.sha256.map { Hexadecimal.text($0) }))
  }

  func follow(_ flight: Flight, _ next: TransferRun.Next) {
    guard let transfer = flight.transfer else { return }
    switch next {
    case .again(let after, let isCounted, let reason):
      loop.settle(
        flight,
        .transferAgain(key: transfer.key, after: after, isCounted: isCounted, flight.fetch.progress, reason),
        after > 0
          ? .triedAgain(id: transfer.attachmentId, reason: reason, at: environment.clock.now() + after) : nil)
    case .restart(let reason): loop.settle(flight, .transferRestarts(key: transfer.key, reason))
    case .pause(let reason, _) where reason.code == "unauthorized" && isLinkAloneRefused(flight):
      let alone = Reason(
        stage: reason.stage, code: reason.code, message: "\(place(of: flight)) answered this link with 401")
      loop.settle(flight, .notFetched(key: transfer.key, alone, isRejected: false))
    case .pause(let reason, let needsHand):
      pauseLane(
        flight, reason, needsHand ? .hand : .fault,
        after: reason.code == "unauthorized" ? Self.standBack.refused : 0)
    case .failed(let reason, let isRejected):
      loop.settle(flight, .notFetched(key: transfer.key, reason, isRejected: isRejected))
    case .fetched:
      loop.lanes.attachments.addDue()
      hasFile(transfer.key)
      loop.settle(flight, .fetched(key: transfer.key, flight.fetch.fetched))
    }
  }

  /// The lane stops; the transfer goes on from its checkpoint once it goes on. The others in hand are stopped likewise.
  func pauseLane(
    _ flight: Flight, _ reason: Reason, _ cause: Pause.Cause, after: Int64 = 0
  ) {
    guard let transfer = flight.transfer else { return }
    let refused = reason.code == "unauthorized" ? credentialName(of: flight) : nil
    var reason = reason
    if let refused {
      if let why = unusable[refused] {
        reason.message += "; the credential '\(refused)' could not be read again: \(why)"
      }
      // The server may refuse this link alone, and accept the credential.
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
    loop.pause(flight.lane, reason, cause, credential: refused.flatMap { credentials[$0] })
    loop.settle(
      flight, .transferAgain(key: transfer.key, after: after, isCounted: false, flight.fetch.progress, reason)
    )
    if Connectivity.isAway(reason.code) { environment.watchNetwork() } else { stopAll() }
  }

  /// Releases the waiting transfers, and has the source end the running ones, which resume later.
  func stopAll() {
    for flight in worker.removeAllQueued() { loop.settle(flight, .released) }
    for flight in worker.inOrder { worker.stop(flight) }
  }

  /// Releases the waiting transfers.
  func releaseWaiting() {
    for flight in worker.removeAllQueued() { loop.settle(flight, .released) }
  }

  /// Makes way for an urgent link, and tries an absent network again at once.
  func makeWayForUrgent() {
    releaseWaiting()
    if let lane = loop.lanes.downloads, Connectivity.isAway(lane.pause?.code ?? "") { loop.resume(lane) }
  }

  /// A command has changed the priority of a transfer: an urgent transfer holds the others.
  func prioritize(_ change: TransferPriority) {
    guard let flight = loop.flights.values.first(where: { $0.transfer?.key == change.key }) else { return }
    flight.lease.priority = change.priority
    worker.holdOthers()
  }

  /// Stops a transfer without waiting attachments.
  func stop(_ key: Int64) {
    guard let flight = loop.flights.values.first(where: { $0.transfer?.key == key }) else { return }
    if worker.removeQueued(flight) { loop.settle(flight, .released) } else { worker.stop(flight) }
  }

  /// The file of a transfer could not be opened.
  func notOpened(_ flight: Flight, _ fault: SourceFault) {
    let reason = Reason(stage: TransferRun.stage, code: fault.reason.code, message: fault.reason.message)
    if fault.remedy == .fetchAgain {
      // A person has taken the file away before it was hashed.
      flight.fetch.progress = TransferState()
      return follow(flight, .again(after: 0, isCounted: true, reason))
    }
    pauseLane(flight, reason, fault.reason.code == "disk-full" ? .hand : .fault)
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
}
