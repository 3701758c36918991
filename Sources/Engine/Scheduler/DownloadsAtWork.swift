import Pipeline
import Platform

/// What is fetched at a moment, and how fast. The ledger knows how far a transfer is only up to its last checkpoint.
public struct DownloadsAtWork: Sendable, Equatable {
  /// A transfer that is under way.
  public struct Transfer: Sendable, Equatable {
    /// In the ledger; 0: not known, since another process tells of it.
    public var key: Int64
    /// Of its oldest attachment.
    public var fileName: String
    /// What may be shown of the link.
    public var link: String
    /// That have come.
    public var bytes: Int64
    /// `nil`: not known.
    public var total: Int64?
    /// It stands still while something urgent is under way.
    public var isHeld: Bool

    public init(
      key: Int64 = 0, fileName: String, link: String, bytes: Int64, total: Int64?, isHeld: Bool
    ) {
      self.key = key
      (self.fileName, self.link, self.bytes, self.total) = (fileName, link, bytes, total)
      self.isHeld = isHeld
    }
  }

  /// In the order in which they began.
  public var transfers: [Transfer]
  /// Bytes a second that came in the last seconds, of all.
  public var rate: Int64

  public init(_ transfers: [Transfer], rate: Int64) {
    (self.transfers, self.rate) = (transfers, rate)
  }
}

/// Bytes a second, over the last seconds.
struct Throughput {
  /// At a time, in nanoseconds of the monotonic clock, so many had come in all.
  private var samples: [(at: UInt64, bytes: Int64)] = []
  private var bytes: Int64 = 0

  /// Nanoseconds that count, and between two samples.
  private static let (window, step): (UInt64, UInt64) = (3_000_000_000, 200_000_000)

  mutating func add(_ more: Int64, at now: UInt64) {
    if samples.isEmpty { samples = [(now, bytes)] }
    bytes &+= more
    if let last = samples.last, now - min(last.at, now) >= Self.step { samples.append((now, bytes)) }
    drop(before: now)
  }

  mutating func rate(at now: UInt64) -> Int64 {
    drop(before: now)
    guard let first = samples.first, now > first.at else { return 0 }
    // Within the first moments of something, less than a second says little.
    let seconds = max(Double(now - first.at) / 1e9, 0.25)
    return Int64(Double(bytes &- first.bytes) / seconds)
  }

  /// Keeps one sample that is older than the window.
  private mutating func drop(before now: UInt64) {
    while samples.count > 1, now - min(samples[1].at, now) >= Self.window { samples.removeFirst() }
    if samples.count == 1, now - min(samples[0].at, now) >= Self.window { samples.removeAll() }
  }
}

extension TransferWorker {
  /// What is under way now.
  func atWork() -> DownloadsAtWork {
    let transfers = underway.values.sorted { $0.serial < $1.serial }.map { flight in
      DownloadsAtWork.Transfer(
        key: flight.transfer?.key ?? 0, fileName: flight.transfer?.fileName ?? "",
        link: flight.transfer?.link.name ?? "",
        bytes: flight.fetch.received, total: flight.fetch.progress.total ?? flight.transfer?.link.size,
        isHeld: isHeld(flight))
    }
    return DownloadsAtWork(transfers, rate: throughput.rate(at: environment.clock.monotonic()))
  }
}
