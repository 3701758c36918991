import CCurl
import StageKit

// Which transfers stand still, and which goes on.
extension Engine {
  /// Whether nothing more is to be taken now.
  func mustPause(_ fetch: Fetch) -> Bool {
    fetch.isHeld || rate?.isEmpty == true || isBehind(fetch)
  }

  /// The disk is slower than the server.
  private func isBehind(_ fetch: Fetch) -> Bool {
    fetch.question.form == .body && fetch.file.unsynced >= Self.syncLimit - Int64(Request.bufferSize)
  }

  /// Where there is more to be read than one thread can read, the oldest transfer goes first, and is done while younger ones are
  /// still on their way: what is done with its content afterwards has a processor meanwhile, and does not wait until all have
  /// come at once. One whose server or line is slower is never at the end of its turn, and goes on.
  func goOnWithPaused() {
    isTurnDue = false
    let paused = active.filter { $0.isPaused && !mustPause($0) }
    if rate != nil {
      // The one that has waited longest is first, so that all get their share of the rate.
      for fetch in paused.sorted(by: { $0.lastByte < $1.lastByte }) where !mustPause(fetch) { goOn(fetch) }
      return
    }
    let next = Self.next(of: paused.map { ($0.number, $0.lastTurn) }, at: now)
    isTurnDue = next.count < paused.count
    for fetch in paused where next.contains(fetch.number) { goOn(fetch) }
  }

  /// Which of those that were at the end of their turn have another.
  ///
  /// - Parameters:
  ///   - waiting: their numbers, of which the oldest has the smallest, and when each had its last turn.
  ///   - now: in milliseconds of the same clock.
  static func next(of waiting: [(number: Int, lastTurn: Int64)], at now: Int64) -> Set<Int> {
    let oldest = waiting.lazy.map(\.number).min()
    return Set(
      waiting.lazy.filter { $0.number == oldest || now - $0.lastTurn >= longestWait }.map(\.number))
  }

  func goOn(_ fetch: Fetch) {
    fetch.isPaused = false
    fetch.letReceiveBufferGrow(now: now)
    fetch.lastByte = now
    // It hands over what it kept, which may pause the transfer again, or end it.
    let result = curl_easy_pause(fetch.request.handle, 0)
    if result != CURLE_OK || fetch.fault != nil || fetch.mustRestart { end(fetch, result) }
  }
}
