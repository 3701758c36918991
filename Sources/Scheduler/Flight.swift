import CPlatform
import Glibc
import Ledger
import Pipeline
import Platform
import Wire

/// A lease under way: what is known of it so far. Lives on the scheduler's thread.
final class Flight {
  /// Names it in this run.
  let serial: UInt64
  let lease: Lease
  let lane: Lane
  /// The stages it still has to pass: the next one's place in the pipeline.
  var position = 0
  /// It shares no worker with another.
  var isAlone: Bool
  /// Workers that ended with it in hand, through no fault of its own.
  var redispatches = 0
  /// Where it is queued or works, by group.
  var dispatched: Dispatch?

  // The content.
  var content: Int32 = -1
  var size: Int64 = 0
  var modified: Int64 = 0
  var changed: Int64 = 0
  var isSealed = false
  /// New content on its way, in memory that is sealed when its stage is done.
  var output: Int32 = -1

  // What stages said.
  var sha256: String?
  var mediaType: String?
  var metadata: [Metadatum] = []
  var location: String?
  var steps: [Settlement.Step] = []
  var emissions: [WorkResult.Emission] = []

  // The outcome.
  var outcome = Status.queued
  var reason: Reason?

  /// The stages that its content passed first, on their basis, where they promise to say the same of equal content.
  var line: String?

  /// A stored object with the same content, once that has been asked.
  var twin: String?
  var isTwinKnown = false
  /// It goes to the store before others with the same content.
  var holdsGate = false
  /// A worker that may write to the store has had it.
  var isStoreTouched = false

  /// What a worker was given.
  struct Dispatch {
    var first: Int
    var end: Int
  }

  init(serial: UInt64, lease: Lease, lane: Lane) {
    self.serial = serial
    self.lease = lease
    self.lane = lane
    isAlone = lease.crashes > 0
  }

  deinit {
    if content >= 0 { close(content) }
    if output >= 0 { close(output) }
  }

  var attachment: LeasedAttachment? {
    if case .attachment(let attachment) = lease.work { attachment } else { nil }
  }

  var delivery: LeasedDelivery? {
    if case .delivery(let delivery) = lease.work { delivery } else { nil }
  }

  // MARK: The content's file

  /// Why a source does not open, and whether it may open another time.
  struct OpenFault {
    var reason: Reason
    var isPassing: Bool
  }

  /// Opens the source, which by now may be anything: a path that names no regular file, or leads over a symbolic link that
  /// was put there since, is a reason to fail.
  func open(_ source: [UInt8]) -> OpenFault? {
    content = (source + [0]).withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { $0.baseAddress.map { sluice_open_source($0) } ?? -1 }
    }
    var facts = stat()
    if content < 0 || fstat(content, &facts) != 0 {
      let number = errno
      let text = "opening the file: \(String(cString: strerror(number)))"
      switch number {
      case ENOENT, ENOTDIR: return OpenFault(reason: Self.reason("missing", text), isPassing: false)
      case EACCES, EPERM: return OpenFault(reason: Self.reason("unreadable", text), isPassing: false)
      case ELOOP, ENXIO:
        return OpenFault(
          reason: Self.reason("not-a-file", "\(text); it was a file when it was taken in"), isPassing: false)
      default: return OpenFault(reason: Self.reason("unreadable", text), isPassing: true)
      }
    }
    if facts.st_mode & S_IFMT != S_IFREG {
      close(content)
      content = -1
      let reason = Self.reason("not-a-file", "it is a folder, a device, a socket or a pipe")
      return OpenFault(reason: reason, isPassing: false)
    }
    (size, modified, changed) = Self.times(facts)
    return nil
  }

  private static func reason(_ code: String, _ message: String) -> Reason {
    Reason(stage: "source", code: code, message: message)
  }

  /// Whether the source was changed since it was opened.
  var isSourceChanged: Bool {
    if content < 0 || isSealed { return false }
    var facts = stat()
    return fstat(content, &facts) != 0 || Self.times(facts) != (size, modified, changed)
  }

  /// Puts new content, sealed by then, in the place of the old.
  func replaceContent() -> SystemError? {
    var facts = stat()
    if fstat(output, &facts) != 0 { return SystemError("measuring new content") }
    close(content)
    content = output
    output = -1
    isSealed = true
    (size, modified, changed) = Self.times(facts)
    if let sha256, !metadata.contains(where: { $0.key == "original.sha256" }) {
      metadata.append(Metadatum(key: "original.sha256", value: .text(sha256)))
    }
    sha256 = nil
    isTwinKnown = false
    twin = nil
    line = nil  // it was of the old content
    return nil
  }

  static func times(_ facts: stat) -> (Int64, Int64, Int64) {
    // Only compared: dates past 2262 may wrap.
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    return (Int64(facts.st_size), nanoseconds(facts.st_mtim), nanoseconds(facts.st_ctim))
  }
}
