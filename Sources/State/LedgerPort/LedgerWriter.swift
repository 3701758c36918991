/// One coordinator's right to write. One thread at a time uses it; its calls block.
///
/// Only durations pass this port: the ledger has the clock by which jobs are due.
public protocol LedgerWriter: AnyObject {
  /// The coordinator, among all that ever joined this ledger.
  var holder: Int64 { get }

  /// Does all of it in one transaction, durable when this returns; or nothing. An exchange that was done before is answered again.
  ///
  /// Throws `unavailable`: nothing was done, and the same may be sent again. `indeterminate`: ask ``fate(of:)`` first. After any
  /// other error this writer is of no more use.
  func exchange(_ exchange: Exchange) throws(LedgerError) -> ExchangeReply

  /// What became of an exchange whose answer was lost: its answer. `nil`: it was not done.
  func fate(of exchange: Exchange) throws(LedgerError) -> ExchangeReply?

  /// Makes the jobs due that lost coordinators had in hand. Returns how many.
  func takeBackLost() throws(LedgerError) -> Int

  /// Does what need not be done while anyone waits, such as to take back what coordinators had in hand that were lost meanwhile.
  /// Call it after replying, and now and then while nothing happens.
  ///
  /// - Parameter isIdle: no request is waiting.
  /// - Returns: whether to call it again in a while, if nothing happens.
  @discardableResult
  func rest(isIdle: Bool) -> Bool

  /// The coordinator ends. What it still holds counts as given back.
  func leave() throws(LedgerError)
}
