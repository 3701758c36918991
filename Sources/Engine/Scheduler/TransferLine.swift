import CPlatform
import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

/// The way of a transfer: open the file, let the source fetch into the file, hash the content, wake the waiting attachments. The
/// loop has the leases, lanes and files.
final class TransferLine: WorkLine {
  let definition: DownloadsDefinition
  let worker: TransferWorker
  let environment: SchedulerEnvironment
  unowned let loop: Scheduler

  // Hosts and their networks.
  var connectivity = Connectivity()
  /// The first failure of the network since a host answered, in milliseconds of the steady clock.
  var silentSince: Int64?
  var hosts = HostHealth()

  // Credentials.
  var refusals = Refusals()
  /// The credentials of the pipeline by name, as last read.
  var credentials: [String: Credential]
  /// Why a credential could not be read again when it was last tried.
  var unusable: [String: String] = [:]

  /// Until when a client attends, in milliseconds of the steady clock.
  var attendedUntil: Int64 = .min
  /// The states of hashed files without a writer, by transfer.
  private var hashed: [Int64: FileState] = [:]
  /// Finished transfers with a file in the home.
  private var fetchedFiles: Set<Int64> = []
  /// The time of the last report in nanoseconds of the monotonic clock, and the number of begun transfers at that time.
  private var told: (at: UInt64, begun: Int) = (0, 0)

  init(_ definition: DownloadsDefinition, _ loop: Scheduler) {
    (self.definition, self.loop, environment) = (definition, loop, loop.environment)
    worker = TransferWorker(definition, loop.pipeline.sandbox, loop.environment)
    credentials = loop.pipeline.credentials
  }

  func begin(_ flight: Flight) {
    guard let transfer = flight.transfer else { return }
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
    flight.fetch.progress = transfer.state
    hashed[transfer.key] = nil
    loop.sources.add(Source(serial: flight.serial, .transfer(transfer.key, environment.downloads)))
  }

  /// Its file is open: to be written, or after the source is done to be hashed.
  func opened(_ flight: Flight) {
    if flight.fetch.isFetched {
      flight.hasNoWriter = sluice_has_no_writer(flight.content) == 1
      return loop.pool.measure(flight)
    }
    if loop.isStopping || flight.lane.pause != nil { return loop.settle(flight, .released) }
    // What is on record is there, unless the file was taken away.
    if flight.file.size < flight.fetch.progress.bytes { flight.fetch.progress = TransferState() }
    (flight.fetch.progressAtStart, flight.fetch.received) = (
      flight.fetch.progress.bytes, flight.fetch.progress.bytes
    )
    worker.add(flight)
  }

  func dispatch() throws(SchedulerError) {
    let rest = try worker.dispatch(
      slot: loop.pool.nextSlot, inHand: loop.lanes.downloads?.inHand ?? 0, isRoomComing: isRoomComing
    ) { work($0) }
    if let (flight, why) = rest.noRoom {
      let id = flight.transfer?.attachmentId ?? ""
      let message = "\(why): make room, or give attachment \(id) up with `sluice cancel \(id)`"
      pauseLane(flight, Reason(stage: TransferRun.stage, code: "disk-full", message: message), .hand)
    }
    for flight in rest.givingWay {
      flight.fetch.progress = TransferState(bytes: 0, total: flight.fetch.progress.total)
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
    let lane = loop.lanes.attachments
    let isAtWork = lane.pause == nil && (lane.inHand > 0 || lane.mayHaveMore)
    return loop.sources.isRemoving || isAtWork && !fetchedFiles.isEmpty
  }

  private func work(_ flight: Flight) -> TransferWork {
    guard let transfer = flight.transfer else {
      return TransferWork(serial: flight.serial, id: "", url: "", limit: 0)
    }
    let link = transfer.link
    var work = TransferWork(
      serial: flight.serial, id: "transfer-\(transfer.key)", url: link.url, limit: definition.maxSize)
    work.attempt = flight.lease.attempt
    (work.method, work.body) = (link.method, link.body.map { Array($0.utf8) })
    let state = flight.fetch.progress
    work.start = TransferProgress(
      bytes: state.bytes, total: state.total, etag: state.etag, modified: state.modified)
    (work.expectedSize, work.expectedSHA256) = (link.size, link.sha256.map(Hexadecimal.text))
    work.declaredType = link.declaredType
    if let name = credentialName(of: flight), let credential = credentials[name] {
      (work.headers, work.trustedHosts) = ([credential.header], credential.hosts)
      flight.fetch.credentialHeader = credential.header
    }
    return work
  }

  func checkLimits() { worker.checkLimits() }

  /// Whether the file of a transfer is unchanged since its hash.
  func isHashed(_ transfer: Int64, as file: FileState) -> Bool {
    hashed[transfer]?.hasSameData(as: file) == true
  }

  func keep(_ transfer: Int64, hashedAs file: FileState) {
    // Attachments follow their transfers soon.
    if hashed.count >= 10_000 { hashed.removeAll() }
    hashed[transfer] = file
  }

  func hasFile(_ transfer: Int64) { fetchedFiles.insert(transfer) }
  func haveNoFiles(_ transfers: [Int64]) { fetchedFiles.subtract(transfers) }

  /// The shares of hosts; `perHost`: the leases of an answering host.
  func shares(perHost: Int) -> HostShares {
    var shares = hosts.shares(perHost, of: definition.connections, at: monotonicMilliseconds)
    (shares.crawling, shares.reserved) = worker.crawling
    return shares
  }

  /// Nanoseconds between two words on what is fetched.
  private static let tellInterval: UInt64 = 250_000_000

  /// Reports the progress of transfers. A new transfer is reported at once, since its end may come before the next report.
  func tell() {
    if loop.isResident && !loop.tellsSteps { return }
    let now = environment.clock.monotonic()
    guard now - told.at >= Self.tellInterval || worker.begun != told.begun else { return }
    told = (now, worker.begun)
    loop.observe(.downloads(worker.atWork()))
  }
}
