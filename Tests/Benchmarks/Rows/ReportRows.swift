import Glibc
import LedgerPort
import Pipeline
import Platform

/// `sluice report` on a ledger with a million attachments that have ended.
enum ReportRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let count = settings.size(1_000_000, quick: 100_000)
    let name = "report of \(Table.number(Double(count)))"
    report.measure(name) {
      let home = ground.store("report")
      try fill(ground, home, count)
      return try ["text", "html", "json", "csv"].flatMap { try measure(settings, home, name, $0) }
    }
  }

  /// Takes in attachments and ends them, each with five stages; nine of ten with an object, every tenth of these a duplicate.
  static func fill(_ ground: Ground, _ home: String, _ count: Int) throws {
    let sources = try BenchLedger.Sources(
      files: Input.texts(1_000, size: 200, on: ground, under: "queue").folder)
    try BenchLedger.at(home) { ledger in
      progress("queueing \(count) attachments")
      try ledger.takeIn(count, sources: sources)
      progress("ending them")
      var random = SplitMix(state: 7)
      var ended = 0
      var held = try ledger.exchange([], claiming: 500)
      while !held.isEmpty {
        let settlements = held.map { lease in
          ended += 1
          return settlement(lease, ended, &random)
        }
        held = try ledger.exchange(settlements, claiming: 500)
      }
      if ended != count { throw BenchError("\(ended) of \(count) attachments have ended") }
    }
  }

  private static let types = [
    "application/pdf", "image/jpeg", "image/png", "text/plain", "application/zip", "video/mp4",
  ]

  private static func settlement(_ lease: Lease, _ number: Int, _ random: inout SplitMix) -> Settlement {
    guard case .attachment(let attachment) = lease.work else { return Settlement(lease, .released) }
    let isRejected = number % 10 == 3
    let content = number % 10 == 7 ? number - 1 : number
    var sha256 = [UInt8](repeating: 0, count: 32)
    var hash = SplitMix(state: UInt64(content))
    for index in 0..<4 {
      withUnsafeBytes(of: hash.next().bigEndian) {
        sha256.replaceSubrange(index * 8..<index * 8 + 8, with: $0)
      }
    }
    let type = types[Int(random.next() % UInt64(types.count))]
    let outcome = AttachmentOutcome(
      isRejected ? .rejected : .completed,
      reason: isRejected
        ? Reason(
          stage: "pdf", code: number % 20 == 3 ? "pdf-damaged" : "encrypted", message: "it does not open")
        : nil,
      mediaType: type, sizeBytes: Int64(random.next() % 5_000_000), sha256: sha256,
      metadata:
        #"{"mime.magic":"\#(type)","mime.database":"5.44","mime.extension":"pdf","pdf.pages":\#(number % 90)}"#,
      url: isRejected ? nil : "documents/\(number)/document.pdf")
    let steps = ["mime", "size", "pdf", "store", "notify"].map { stage in
      let isReason = isRejected && stage == "pdf"
      return Step(
        stage: stage, verdict: isReason ? "reject" : "pass", code: isReason ? outcome.reason?.code : nil,
        message: isReason ? outcome.reason?.message : nil, microseconds: Int64(1 << (random.next() % 20)))
    }
    return Settlement(
      lease,
      .attachment(EndedAttachment(attachment, outcome, attempt: lease.attempt, steps: steps, events: [])))
  }

  private static func measure(
    _ settings: Settings, _ home: String, _ name: String, _ format: String
  ) throws -> [TableRow] {
    var times: [Double] = []
    var peak: Int64 = 0
    for _ in 1...settings.rounds(atMost: 3) {
      let child = try Child(
        [Sluice.program, "report", "--home", home, "--format", format], out: Ground.output("report"))
      while !child.hasEnded(within: 0.02) { peak = max(peak, child.peakMemory ?? 0) }
      times.append(try child.end(as: 0).seconds)
    }
    let isTable = format == "csv"
    return [
      TableRow("\(name): \(format)", "s", times, goal: .atMost(isTable ? 10 : 5)),
      TableRow("\(name): \(format), peak memory", "MiB", [Double(peak) / 1_048_576], goal: .atMost(100)),
    ]
  }
}
