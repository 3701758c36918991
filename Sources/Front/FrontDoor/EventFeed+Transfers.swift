import LedgerPort
import Pipeline
import Platform
import Scheduler

// What is fetched, as it comes: no change of the ledger, and so no event with a place in their order.
extension EventFeed {
  /// Of a link that many ask for, so many are told.
  private static let mostSharers = 1000

  /// - Parameter watch: is told of the ends that are on record now.
  func transfers(_ news: TransferWatch.News, _ watch: inout TransferWatch) throws -> [Event] {
    var events: [Event] = []
    for transfer in news.moving {
      if var record = try ledger.transfer(transfer.key) {
        if record.state == .running {
          // The ledger has it from the last checkpoint.
          record.bytes = transfer.bytes
          record.total = transfer.total ?? record.total
          record.isHeld = transfer.isHeld
        }
        events.append(Self.event("transfer") { record.write(to: &$0) })
      }
      for sharer in try ledger.sharers(ofTransfer: transfer.key, limit: Self.mostSharers) {
        events.append(Self.progress(sharer, transfer))
      }
    }
    for key in news.ended {
      guard let record = try ledger.transfer(key) else {
        watch.end(key)
        continue
      }
      if record.state == .running { continue }
      watch.end(key)
      events.append(Self.event("transfer") { record.write(to: &$0) })
    }
    return events
  }

  /// To users without the link, which is a secret of who gave it.
  private static func progress(_ sharer: TransferSharer, _ transfer: DownloadsAtWork.Transfer) -> Event {
    let text = json { writer in
      writer.member("id", sharer.attachmentId)
      writer.member("stage", TransferRun.stage)
      writer.member("bytes", transfer.bytes)
      writer.member("size", transfer.total)
    }
    return Event(
      kind: "progress", audience: .usersAlone(Set(sharer.users.map(ByteText.init))), full: text, short: text)
  }
}
