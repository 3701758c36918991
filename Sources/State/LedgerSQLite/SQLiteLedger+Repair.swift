import LedgerPort
import LedgerRules
import Platform
import SQLite

// Repairs of the rows of an intact file. The caller holds the home's lock.
extension SQLiteLedger {
  /// Recomputes the counts from the rows, and the names of objects.
  public func recount() throws(LedgerError) {
    try transaction {
      try statement(SQL.addMissingCounts).run()
      try statement(SQL.recount).run()
      try statement(SQL.forgetStrayKept).run()
      try statement(SQL.removeNames).run()
      try statement(SQL.renameAll).run()
    }
  }

  /// Adds the missing jobs of queued attachments and pending deliveries, and takes away those of ended ones.
  public func mendJobs() throws(LedgerError) {
    try transaction {
      try statement(SQL.removeJobsOfEnded).run()
      let now = Statement.Value.integer(clock.now())
      try statement(SQL.recountChildren).run()
      try statement(SQL.addMissingAttachmentJobs).run(now, .integer(try laneKey(.attachments)))
      try statement(SQL.releaseStrayWaiting).run()
      try statement(SQL.releaseStrayExpanded).run()
      try statement(SQL.addMissingTransferJobs).run(now, .integer(try laneKey(.downloads)))
      try statement(SQL.removeTurns).run()
      try statement(SQL.addTurns).run()
      var channels: [String] = []
      try statement(SQL.channelsWithoutLane).rows { channels.append($0.text(0)) }
      for channel in channels { _ = try laneKey(.channel(channel)) }
      try statement(SQL.addMissingDeliveryJobs).run(now)
    }
  }

  /// Queues an attachment whose object is lost, as if it had just been taken in.
  public func requeue(_ object: StoredObject) throws(LedgerError) {
    try transaction {
      var (rows, tally) = (self, tally())
      if try statement(SQL.hasJob).first(.integer(object.key), make: { _ in true }) == true {
        try rows.beginAgain(object.key, &tally)
      } else {
        // One whose derived object is lost has its own.
        try rows.queueAgain(object.key, keepsObject: object.derived != nil, &tally)
      }
      _ = try advance(tally.changed, at: tally.time, tally.now)
      lastChange += 1
    }
  }

  public func tryAgain(_ object: StoredObject) throws(LedgerError) -> Bool {
    try transaction {
      let reason = try statement(SQL.failedAt).first(.integer(object.key)) { ($0.text(0), $0.text(1)) }
      guard let (stage, code) = reason, stage == "source",
        ["object-missing", "object-damaged"].contains(code)
      else { return false }
      var (rows, tally) = (self, tally())
      try rows.queueAgain(object.key, &tally)
      _ = try advance(tally.changed, at: tally.time, tally.now)
      lastChange += 1
      return true
    }
  }

  public func forgetKept(_ object: StoredObject) throws(LedgerError) {
    try transaction {
      var (rows, tally) = (self, tally())
      try setKept(object.key, nil)
      if try isExpanded(object.key) {
        try rows.beginAgain(object.key, &tally)
        _ = try advance(tally.changed, at: tally.time, tally.now)
        lastChange += 1
      }
      try leaveName(object.url)
    }
  }
}
