import LedgerPort
import Pipeline
import Wire

// What transfers tell of the network and its hosts.
extension TransferLine {
  /// Something came from a host: a pause for want of a network is over.
  func heardHost(of flight: Flight) {
    heardConnection(of: flight)
    silentSince = nil
    connectivity.heard(place(of: flight))
    if let lane = loop.lanes.downloads, Connectivity.isAway(lane.pause?.code ?? "") { loop.resume(lane) }
  }

  /// Its host may have more connections from now on, where it had but one.
  func heardConnection(of flight: Flight) {
    if hosts.hears(flight.host, at: monotonicMilliseconds) { flight.lane.addDue() }
  }

  /// Codes of transfers that waited for their hosts too long.
  private static let waits: Set<String> = ["stalled", "timed-out"]

  private func missedHost(of flight: Flight) {
    // It did answer, and may have broken off for any reason.
    if flight.fetch.received > flight.fetch.progressAtStart { return }
    hosts.missed(
      flight.host, since: Int64(flight.fetch.heardAt / 1_000_000), at: monotonicMilliseconds)
  }

  var monotonicMilliseconds: Int64 { Int64(environment.clock.monotonic() / 1_000_000) }

  func place(of flight: Flight) -> String {
    flight.transfer.flatMap { LinkPlace($0.link.url) }?.text ?? ""
  }

  /// Milliseconds for which a run that ends by itself goes from one host that does not answer to the next.
  private static let silence: Int64 = 60_000

  /// Whether a run that ends by itself lets its lane go on once more: the hosts at the front may be dead, and others not.
  func triesOtherHosts(_ lane: Lane) -> Bool {
    guard lane === loop.lanes.downloads, lane.hadMore, Connectivity.isAway(lane.pause?.code ?? ""),
      connectivity.hasMetOnlyNewHosts
    else { return false }
    return silentSince.map { loop.time - $0 < Self.silence } ?? true
  }

  func networkChanged() {
    connectivity.networkChanged()
    hosts = HostHealth()
    if let lane = loop.lanes.downloads, Connectivity.isAway(lane.pause?.code ?? "") { loop.resume(lane) }
  }

  /// Milliseconds for which a transfer stands behind the others that heard no host, or that was refused.
  static let standBack: (silent: Int64, refused: Int64) = (30_000, 2000)

  /// What a transfer that has ended says of the network, and so what is next; `nil`: it is settled.
  func afterSilence(
    _ flight: Flight, _ said: StageResult, _ next: TransferRun.Next
  ) -> TransferRun.Next? {
    switch connectivity.take(said.code, host: place(of: flight), user: flight.transfer?.link.scope) {
    case .heard: heardHost(of: flight)
    case .silence: missedHost(of: flight)
    case .nothing: if Self.waits.contains(said.code ?? "") { missedHost(of: flight) }
    case .away(let reason):
      missedHost(of: flight)
      silentSince = silentSince ?? loop.time
      // The next try begins with other hosts: those at the front may be dead.
      pauseLane(flight, reason, .fault, after: Self.standBack.silent)
      return nil
    case .awayForUser(let reason):
      missedHost(of: flight)
      if let transfer = flight.transfer {
        loop.settle(
          flight,
          .transferAgain(
            key: transfer.key, after: Self.standBack.silent, isCounted: false, flight.fetch.progress, reason))
      }
      return nil
    case .noWay:
      var said = said
      said.pausesLane = false
      return run(flight).next(said, hasProgressed: flight.fetch.hasProgressed)
    }
    return next
  }
}
