import Scheduler

/// Which transfers there is something to tell of, and when: as their bytes come, and where one has ended.
struct TransferWatch {
  /// Nanoseconds between two words on the same transfer, and for which the end of one is waited for.
  private static let (interval, patience): (UInt64, UInt64) = (250_000_000, 30_000_000_000)
  /// So many are watched: of more, no reader could follow each.
  private static let most = 1000

  private struct Told {
    var transfer: DownloadsAtWork.Transfer
    var at: UInt64
  }

  /// By key: what was told last of those that are under way.
  private var told: [Int64: Told] = [:]
  /// Those that are not any more, and whose end is not on record yet; and until when that is looked for, in nanoseconds.
  private var ending: [Int64: UInt64] = [:]

  /// What to tell of.
  struct News: Equatable {
    var moving: [DownloadsAtWork.Transfer] = []
    /// To be looked up.
    var ended: [Int64] = []
  }

  /// - Parameters:
  ///   - transfers: what is under way; `nil`: that was not told since.
  ///   - now: nanoseconds of the monotonic clock.
  mutating func take(_ transfers: [DownloadsAtWork.Transfer]?, at now: UInt64) -> News {
    var news = News()
    if let transfers {
      let keys = Set(transfers.map(\.key))
      for key in told.keys where !keys.contains(key) {
        told[key] = nil
        ending[key] = now + Self.patience
      }
      for transfer in transfers where transfer.key != 0 {
        ending[transfer.key] = nil
        let last = told[transfer.key]
        if let last, last.transfer == transfer || now - last.at < Self.interval { continue }
        if last == nil && told.count >= Self.most { continue }
        told[transfer.key] = Told(transfer: transfer, at: now)
        news.moving.append(transfer)
      }
    }
    ending = ending.filter { $0.value > now }
    news.ended = ending.keys.sorted()
    return news
  }

  /// The end of one is told.
  mutating func end(_ key: Int64) { ending[key] = nil }
}
