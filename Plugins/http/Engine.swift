import CCurl
import Glibc
import Outbound
import StageKit

/// All transfers: which are under way, and the loop that drives them, on one thread.
final class Engine {
  let settings: Settings
  private let certificates: Certificates?
  private let multi: UnsafeMutableRawPointer
  let syncing: Syncing
  private(set) var rate: Rate?
  /// Milliseconds of the monotonic clock, read once for each round of the loop.
  private(set) var now = Int64(Engine.clock() / 1_000_000)

  private var fetches: [Transfer.ID: Fetch] = [:]
  private var waiting: [Fetch] = []
  private(set) var active: [Fetch] = []
  /// Those that wait for their last sync.
  private var ending: [Int: Fetch] = [:]
  private var lastNumber = 0
  private var hasSettled = false
  /// Rises with each look at the connections.
  private(set) var round = 0
  var isTurnDue = false

  /// Bytes after which a sync begins, and those after which nothing more is read before it is done.
  static let syncInterval: Int64 = 4 << 20
  static let syncLimit: Int64 = 8 << 20
  /// Bytes that are read from a connection in one round, before others have their turn.
  static let turnSize = 4 << 20
  /// Milliseconds after which a transfer has a turn though an older one has more to be read: else its server may give the
  /// connection up.
  static let longestWait: Int64 = 250
  /// Milliseconds between two checkpoints of a slow transfer.
  static let checkpointInterval: Int64 = 2000
  /// Milliseconds that the rest of an answer without content may take, so that its connection can be used again.
  static let discardTime: Int64 = 1000

  init(_ settings: Settings, certificates: Certificates?) throws(Outcome) {
    guard let multi = curl_multi_init() else {
      throw .fail("invalid-options", "libcurl makes no multi handle")
    }
    self.settings = settings
    self.certificates = certificates
    self.multi = multi
    nonisolated(unsafe) let waker = multi  // curl_multi_wakeup may be called on any thread
    syncing = Syncing { curl_multi_wakeup(waker) }
    rate = Rate(settings.rate, now: Self.clock())
    // Each transfer has a connection of its own, so that one that is held holds no other. Connections that are free are kept, as
    // far as they are likely to be used again.
    _ = sluice_curl_multi_set_number(multi, CURLMOPT_PIPELINING, 0)
    _ = sluice_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, min(settings.connections, 50) + 8)
  }

  deinit {
    syncing.end()
    for fetch in active { curl_multi_remove_handle(multi, fetch.request.handle) }
    curl_multi_cleanup(multi)
  }

  /// Nanoseconds.
  static func clock() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private func readClock() {
    let clock = Self.clock()
    now = Int64(clock / 1_000_000)
    rate?.refill(now: clock)
  }

  // MARK: What the host says

  func start(_ transfer: Transfer) {
    readClock()
    do throws(Outcome) {
      let fetch = try makeFetch(transfer)
      fetches[transfer.id] = fetch
      if let refused, now < refused.until, fetch.hasCredential(of: refused.fetch) {
        return giveBack(fetch, refused.fetch)
      }
      waiting.append(fetch)
    } catch {
      transfer.end(error)
      hasSettled = true
    }
  }

  private func makeFetch(_ transfer: Transfer) throws(Outcome) -> Fetch {
    let opening = try FirstQuestion(transfer, settings)
    guard let request = Request(settings, certificates: certificates) else {
      throw .retry("unreachable", "there is no memory for a request")
    }
    lastNumber += 1
    let fetch = Fetch(
      transfer, number: lastNumber, question: opening.question, credentials: opening.credentials,
      trusted: opening.trusted, request: request, engine: self)
    let me = Unmanaged.passUnretained(fetch).toOpaque()
    let results = [
      sluice_curl_set_pointer(request.handle, CURLOPT_HEADERDATA, me),
      sluice_curl_on_receive(request.handle, CURLOPT_HEADERFUNCTION, receiveHeader),
      sluice_curl_set_pointer(request.handle, CURLOPT_WRITEDATA, me),
      sluice_curl_on_receive(request.handle, CURLOPT_WRITEFUNCTION, receiveBody),
    ]
    guard results.allSatisfy({ $0 == CURLE_OK }) else {
      throw .retry("unreachable", "there is no memory for a request")
    }
    return fetch
  }

  func hold(_ id: Transfer.ID, _ isHeld: Bool) {
    readClock()
    guard let fetch = fetches[id], fetch.hold(isHeld, now: now), case .asking = fetch.phase else { return }
    // Before the body there is little to read, and libcurl would hand over the whole head as one line later: the first piece of
    // the body is not taken then.
    if isHeld && fetch.decision == nil { return }
    if isHeld {
      fetch.isPaused = true
      fetch.keepReceiveBuffer()
      curl_easy_pause(fetch.request.handle, CURLPAUSE_RECV)
    } else {
      goOn(fetch)
    }
  }

  func stop(_ id: Transfer.ID) {
    readClock()
    guard let fetch = fetches[id] else { return }
    take(fetch)
    let outcome = Outcome.retry("stopped", "the transfer was ended from outside")
    guard fetch.file.unsynced > 0 else { return settle(fetch, outcome) }
    let error = fetch.file.sync()
    if error != 0 { return settle(fetch, fetch.fileFault(error)) }
    fetch.tellCheckpoint(now: now)
    settle(fetch, outcome)
  }

  // MARK: The loop

  func turn(wake: Int32, for milliseconds: Int64) {
    readClock()
    let end = now + milliseconds
    while true {
      beginWaiting()
      perform()
      takeSynced()
      goOnWithPaused()
      lookAfterActive()
      if hasSettled || now >= end { break }
      beginWaiting()
      var extra = curl_waitfd(fd: wake, events: Int16(CURL_WAIT_POLLIN), revents: 0)
      let wait = isTurnDue ? 0 : Int32(clamping: min(max(nextDeadline() - now, 0), end - now))
      let result = curl_multi_poll(multi, &extra, 1, wait, nil)
      readClock()
      if result != CURLM_OK { giveUp(result) }
      if extra.revents != 0 { break }
    }
    hasSettled = false
  }

  /// Begins those that wait, in their order, as far as the limits allow. Those that are held take no place.
  private func beginWaiting() {
    guard !waiting.isEmpty else { return }
    var free = settings.connections - active.count { !$0.isHeld }
    waiting.removeAll { fetch in
      guard free > 0, !fetch.isHeld, isFree(fetch.question.link), mayBeRefused(fetch) else { return false }
      free -= 1
      fetch.started = now
      fetch.lastCheckpoint = now
      ask(fetch)
      return true
    }
  }

  private func isFree(_ link: WebURL) -> Bool {
    active.count { !$0.isHeld && $0.question.link.host == link.host && $0.question.link.port == link.port }
      < settings.perHost
  }

  /// Requests with one credential at a time that no content has come for yet: where it is not taken any more, no more go out with
  /// it. One that was refused is among them until it has ended, and those that wait are given back.
  private static let unanswered = 2
  /// The last one that was refused, and until when others with its credential are not asked for: the host may have handed them
  /// over before it heard of that.
  private var refused: (fetch: Fetch, until: Int64)?
  /// Milliseconds.
  private static let untilHostKnows: Int64 = 500

  private func mayBeRefused(_ fetch: Fetch) -> Bool {
    !fetch.sendsCredential
      || active.count { !$0.isReceivingContent && !$0.isHeld && $0.hasCredential(of: fetch) }
        < Self.unanswered
  }

  /// Its credential was refused: those that wait would send it, too.
  private func giveBackWaiting(with refused: Fetch) {
    self.refused = (refused, now + Self.untilHostKnows)
    for fetch in waiting where fetch.hasCredential(of: refused) { giveBack(fetch, refused) }
  }

  private func giveBack(_ fetch: Fetch, _ refused: Fetch) {
    take(fetch)
    settle(
      fetch,
      .retry(
        "not-asked",
        "\(refused.question.link.host) has refused its credential meanwhile, so it was not asked for"))
  }

  private func ask(_ fetch: Fetch) {
    if let outcome = fetch.prepare(now: now) { return conclude(fetch, outcome) }
    let result = curl_multi_add_handle(multi, fetch.request.handle)
    guard result == CURLM_OK else {
      return conclude(fetch, .retry("unreachable", String(cString: curl_multi_strerror(result))))
    }
    fetch.phase = .asking
    fetch.isPaused = false
    active.append(fetch)
  }

  private func perform() {
    round += 1
    var running: Int32 = 0
    let result = curl_multi_perform(multi, &running)
    readClock()
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE,
        let fetch = active.first(where: { $0.request.handle == message.pointee.easy_handle })
      else { continue }
      end(fetch, message.pointee.data.result)
    }
    if result != CURLM_OK { giveUp(result) }
  }

  /// A request has ended.
  func end(_ fetch: Fetch, _ result: CURLcode) {
    take(fetch)
    switch fetch.next(after: result, settings) {
    case .ask: ask(fetch)
    case .end(let outcome):
      conclude(fetch, outcome)
      if outcome?.code == "unauthorized", outcome?.pausesLane == true { giveBackWaiting(with: fetch) }
    }
  }

  /// Takes it out of what is driven.
  private func take(_ fetch: Fetch) {
    // Its connection may serve another.
    fetch.lookAfterReceiveBuffer(now: .max)
    if case .asking = fetch.phase {
      curl_multi_remove_handle(multi, fetch.request.handle)
      active.removeAll { $0 === fetch }
    }
    waiting.removeAll { $0 === fetch }
    ending[fetch.number] = nil
  }

  /// The multi handle failed, and not a single request.
  private func giveUp(_ result: CURLMcode) {
    for fetch in active {
      take(fetch)
      conclude(fetch, .retry("unreachable", String(cString: curl_multi_strerror(result))))
    }
  }

  func took(_ count: Int) { rate?.take(count) }

  // MARK: Time and disk

  private func lookAfterActive() {
    for fetch in active {
      fetch.lookAfterReceiveBuffer(now: now)
      if let outcome = fetch.timeout(now: now, settings) {
        take(fetch)
        conclude(fetch, outcome)
        continue
      }
      if let decision = fetch.decision {
        if case .content = decision {
          fetch.tellReceived(now: now)
        } else if now - fetch.decided >= Self.discardTime {
          end(fetch, CURLE_OK)
          continue
        }
      }
      syncIfDue(fetch)
    }
  }

  private func syncIfDue(_ fetch: Fetch) {
    guard fetch.question.form == .body, !fetch.isSyncing, fetch.file.unsynced > 0,
      fetch.file.unsynced >= Self.syncInterval || now - fetch.lastCheckpoint >= Self.checkpointInterval
    else { return }
    if let outcome = beginSync(fetch) {
      take(fetch)
      conclude(fetch, outcome)
    }
  }

  /// As soon as there is enough, while more is read: so it may be done by the time that nothing more is read before it is.
  func syncIfMuch(_ fetch: Fetch) -> Outcome? {
    guard fetch.question.form == .body, !fetch.isSyncing, fetch.file.unsynced >= Self.syncInterval else {
      return nil
    }
    return beginSync(fetch)
  }

  private func beginSync(_ fetch: Fetch) -> Outcome? {
    let error = syncing.begin(
      fetch.file.descriptor, transfer: fetch.number, bytes: fetch.file.length, generation: fetch.generation)
    if error != 0 { return fetch.fileFault(error) }
    fetch.isSyncing = true
    return nil
  }

  private func takeSynced() {
    for order in syncing.takeDone() {
      let fetch = ending[order.transfer] ?? active.first { $0.number == order.transfer }
      guard let fetch else { continue }
      fetch.isSyncing = false
      if order.error != 0 {
        take(fetch)
        settle(fetch, fetch.fileFault(order.error))
        continue
      }
      if order.generation == fetch.generation {
        fetch.file.note(synced: order.bytes)
        fetch.tellCheckpoint(now: now)
      }
      guard case .ending(let outcome) = fetch.phase else { continue }
      if fetch.file.unsynced > 0 {
        conclude(fetch, outcome)  // the sync began before the last bytes came
      } else {
        settle(fetch, outcome)
      }
    }
  }

  /// Ends a transfer that is not driven any more: what can be of use is synced before.
  private func conclude(_ fetch: Fetch, _ outcome: Outcome?) {
    fetch.phase = .ending(outcome)
    if let outcome {
      let isOfUse = fetch.question.form == .body && fetch.file.unsynced > 0 && outcome.verdict == SLUICE_RETRY
      if !isOfUse { return settle(fetch, outcome) }
    } else {
      let error = fetch.file.cut(to: fetch.file.length)
      if error != 0 { return settle(fetch, fetch.fileFault(error)) }
    }
    ending[fetch.number] = fetch
    if fetch.isSyncing { return }
    if let fault = beginSync(fetch) { settle(fetch, fault) }
  }

  private func settle(_ fetch: Fetch, _ outcome: Outcome?) {
    ending[fetch.number] = nil
    fetches[fetch.transfer.id] = nil
    fetch.phase = .ended
    hasSettled = true
    if outcome == nil {
      fetch.describeContent()
      if fetch.file.length != fetch.reported { fetch.transfer.received(fetch.file.length) }
    }
    fetch.transfer.end(outcome)
  }

  /// Milliseconds of the clock at which something is to be done though nothing comes.
  private func nextDeadline() -> Int64 {
    var next = Int64.max
    for fetch in active {
      next = min(next, fetch.deadline(settings))
      if !fetch.isHeld && fetch.isPaused, let rate { next = min(next, now + rate.wait) }
      if fetch.question.form == .body && fetch.file.unsynced > 0 && !fetch.isSyncing {
        next = min(next, fetch.lastCheckpoint + Self.checkpointInterval)
      }
      switch fetch.decision {
      case nil: break
      case .content?:
        if fetch.file.length != fetch.reported { next = min(next, fetch.lastReport + 250) }
      default: next = min(next, fetch.decided + Self.discardTime)
      }
    }
    return next
  }
}
