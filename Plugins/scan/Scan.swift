import StageKit

/// Asks ClamAV's daemon whether content is clean. Content without a reply, or not sent, never counts as
/// clean.
///
/// `process` begins with an attachment and returns; `turn` works on all that are under way, and settles each as soon as it has
/// its reply. `flush`, for older hosts, waits for all.
struct Scan: Stage {
  static let about = About(
    id: "scan", version: "1.0.0", summary: "Asks ClamAV's daemon whether content is clean.",
    capability: .network, flushes: true, turns: true,
    keys: [
      "scan.result": "`clean`, `infected`, or `not-scanned` where `too-large` lets content pass.",
      "scan.engine": "What clamd says it is: its version, its database's, and when that was made.",
      "scan.signature": "The name of the signature that matched.",
      "scan.reason": "With `not-scanned`: the code that says why.",
      "scan.limit": "With `not-scanned`: `max-size`, or the limit of clamd's that was in the way.",
    ],
    codes: [
      "virus-found": "A signature matches; the message names it.",
      "too-large-to-scan": "The content is over `max-size`, or over a limit of clamd's.",
      "scanner-unavailable": "clamd was not reached, or gave no answer that is one.",
      "scanner-error": "clamd answered with an error of its own.",
      "source-changed": "The content is not as long as it was when it was measured.",
      "unreadable": "The system cannot read the content.",
      "invalid-options": "An option's value is not usable; the message says why.",
    ])

  static let address = Option<String>.text(
    "address", default: "unix:/run/clamav/clamd.ctl",
    help: "Where clamd listens: `unix:/path` or `tcp:host:port`; a name is looked up once.")
  static let maxSize = Option<Int64>.bytes(
    "max-size", default: "25MB",
    help: "The largest content that is sent; no more than clamd's StreamMaxLength and MaxFileSize."
  ).within(1...(1 << 40))
  static let tooLarge = Option<String>.text(
    "too-large", default: "reject",
    help: "What becomes of content over `max-size` or clamd's limits; `pass` notes that it was not scanned."
  ).among("reject", "fail", "pass")
  static let timeout = Option<Int64>.duration(
    "timeout", default: "30s", help: "How long clamd may take for an attachment; less than the stage's own."
  ).within(1...3_600_000)
  static let retryAfter = Option<Int64>.duration(
    "retry-after", default: "10s", help: "How long to wait before clamd is asked again about an attachment."
  ).within(1...86_400_000)
  static let options: [any OptionDeclaration] = [address, maxSize, tooLarge, timeout, retryAfter]

  private let maxSize: Int64
  private let tooLarge: String
  private let retryAfter: Int64
  private let scanner: Scanner

  init(_ opening: Opening) throws(Outcome) {
    maxSize = opening[Self.maxSize]
    tooLarge = opening[Self.tooLarge]
    retryAfter = opening[Self.retryAfter]
    scanner = try Scanner(
      at: ScannerAddress(opening[Self.address]), timeout: opening[Self.timeout], opening)
    if tooLarge == "reject" { opening.rejects(above: maxSize, code: "too-large-to-scan") }
  }

  mutating func process(_ attachment: Attachment) throws(Outcome) {
    guard attachment.size <= maxSize else {
      try skip(
        attachment, for: "max-size", "\(attachment.size) bytes, and \(maxSize) are sent to the scanner")
      return attachment.settle(nil)
    }
    scanner.add(attachment)
  }

  mutating func turn(wake: Int32, for milliseconds: Int64) {
    for ending in scanner.turn(wake: wake, for: milliseconds) {
      do throws(Outcome) {
        try decide(ending)
        ending.attachment.settle(nil)
      } catch {
        ending.attachment.settle(error)
      }
    }
  }

  mutating func flush() {
    while scanner.isBusy { turn(wake: -1, for: 1000) }
  }

  private func decide(_ ending: Scanner.Ending) throws(Outcome) {
    let attachment = ending.attachment
    let reply: Reply
    do throws(Outcome) { reply = try ending.reply.get() } catch { throw later(error) }
    if let engine = ending.engine { attachment.annotate("scan.engine", engine) }
    switch reply {
    case .clean: attachment.annotate("scan.result", "clean")
    case .found(let name):
      attachment.annotate("scan.result", "infected")
      attachment.annotate("scan.signature", name)
      throw .reject("virus-found", "the scanner found \(name)")
    case .notScanned(let limit):
      try skip(attachment, for: limit, "the scanner did not look at all of it: \(limit)")
    case .error(let reason): throw later(.retry("scanner-error", "the scanner reports: \(reason)"))
    case .nonsense: throw later(.unavailable("the scanner's answer is none of clamd's"))
    }
  }

  /// The outcome for content that is not scanned, or not completely.
  private func skip(_ attachment: Attachment, for limit: String, _ reason: String) throws(Outcome) {
    attachment.annotate("scan.result", "not-scanned")
    attachment.annotate("scan.reason", "too-large-to-scan")
    attachment.annotate("scan.limit", limit)
    switch tooLarge {
    case "pass": break
    case "fail": throw .fail("too-large-to-scan", reason)
    default: throw .reject("too-large-to-scan", reason)
    }
  }

  /// A retry caused by clamd waits as long as the pipeline says; a retry caused by the file does not.
  private func later(_ outcome: Outcome) -> Outcome {
    guard outcome.code.hasPrefix("scanner-"), !outcome.pausesLane else { return outcome }
    return .retry(outcome.code, outcome.message, after: retryAfter)
  }
}

extension Outcome {
  /// No valid reply: nothing is known about the content.
  /// Nobody listens: no content can be scanned now.
  static func away(_ reason: String) -> Outcome { .pause("scanner-unavailable", reason) }
  static func unavailable(_ reason: String) -> Outcome { .retry("scanner-unavailable", reason) }
}

private let exported = Exported(Scan.self)

/// The plugin's one exported function.
@c(scan_stage)
public func scan_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
