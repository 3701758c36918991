import FrontWire
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform

/// What the front door counts.
struct FrontCounts: Sendable {
  var requests = RequestCounts()
  /// Streams of events that are open.
  var streams = 0
  var ends = EndTally.Counts()
}

extension API {
  /// Figures in the text format of Prometheus, version 0.0.4.
  func metrics() throws -> FrontReply {
    let status = try ledger.status()
    let lanes = allLanes(status)
    var text = MetricsText()
    text.family("sluice_attachments", "Attachments, by status.", .gauge)
    for status in status.attachments {
      text.sample("sluice_attachments", [("status", status.status.rawValue)], Double(status.count))
    }
    text.family("sluice_attachments_bytes", "Bytes of their contents.", .gauge)
    for status in status.attachments {
      text.sample("sluice_attachments_bytes", [("status", status.status.rawValue)], Double(status.bytes))
    }
    text.family("sluice_jobs", "Jobs in the queue, by lane and state.", .gauge)
    for lane in lanes {
      for (state, count) in [("due", lane.due), ("scheduled", lane.scheduled), ("leased", lane.leased)] {
        text.sample("sluice_jobs", [("lane", lane.name.description), ("state", state)], Double(count))
      }
    }
    text.family("sluice_lane_paused", "1 where a lane stands still.", .gauge)
    for lane in lanes {
      text.sample("sluice_lane_paused", [("lane", lane.name.description)], lane.pause == nil ? 0 : 1)
    }
    text.family("sluice_oldest_queued_seconds", "Since the oldest in the queue was taken in.", .gauge)
    text.sample(
      "sluice_oldest_queued_seconds", [],
      status.oldestQueuedAt.map { max(Double(Clock.now() - $0) / 1000, 0) } ?? 0)
    text.family("sluice_dead_letters", "Deliveries that were given up.", .gauge)
    text.sample("sluice_dead_letters", [], Double(status.deadLetters))
    text.family("sluice_failed_downloads", "Links that could not be fetched.", .gauge)
    text.sample("sluice_failed_downloads", [], Double(status.failedDownloads))
    text.family("sluice_ledger_bytes", "Bytes of the ledger's files.", .gauge)
    text.sample("sluice_ledger_bytes", [], Double(ledgerBytes))
    text.family("sluice_free_bytes", "Bytes that are free on the disk of the home and of the store.", .gauge)
    for (place, path) in [("home", home.path), ("store", home.storePath)] {
      if let free = UploadsFolder.freeBytes(path) {
        text.sample("sluice_free_bytes", [("place", place)], Double(free))
      }
    }
    let counts = counts()
    text.family(
      "sluice_attachments_ended_total", "Attachments that have ended since the start, by how.", .counter)
    for (end, count) in counts.ends.ends.sorted(by: { $0.key < $1.key }) {
      text.sample(
        "sluice_attachments_ended_total",
        [("status", end.status.rawValue), ("stage", end.stage), ("code", end.code)], Double(count))
    }
    text.family(
      "sluice_checks_total", "Contents judged and not kept since the start, by where and how.", .counter)
    for (judgement, count) in counts.ends.judgements.sorted(by: { $0.key < $1.key }) {
      text.sample(
        "sluice_checks_total",
        [
          ("door", judgement.door), ("verdict", judgement.verdict.rawValue), ("stage", judgement.stage),
          ("code", judgement.code),
        ], Double(count))
    }
    text.family("sluice_stage_duration_seconds", "How long stages took for an attachment.", .histogram)
    for (stage, durations) in counts.ends.stages.sorted(by: { $0.key < $1.key }) {
      text.histogram("sluice_stage_duration_seconds", [("stage", stage)], durations)
    }
    text.family(
      "sluice_http_requests_total", "Requests that have ended, by the status of the answer.", .counter)
    for (status, count) in counts.requests.byStatus.sorted(by: { $0.key < $1.key }) {
      text.sample("sluice_http_requests_total", [("status", "\(status)")], Double(count))
    }
    text.family("sluice_http_request_seconds_total", "Seconds that they took together.", .counter)
    text.sample("sluice_http_request_seconds_total", [], counts.requests.seconds)
    text.family("sluice_http_received_bytes_total", "Bytes of their bodies.", .counter)
    text.sample("sluice_http_received_bytes_total", [], Double(counts.requests.received))
    text.family("sluice_http_sent_bytes_total", "Bytes of the answers.", .counter)
    text.sample("sluice_http_sent_bytes_total", [], Double(counts.requests.sent))
    text.family("sluice_event_streams", "Streams of events that are open.", .gauge)
    text.sample("sluice_event_streams", [], Double(counts.streams))
    return FrontReply(
      200,
      [
        .init("Content-Type", "text/plain; version=0.0.4; charset=utf-8"), .init("Cache-Control", "no-store"),
      ],
      .bytes(Array(text.text.utf8)))
  }

  private var ledgerBytes: Int64 {
    ["", "-wal"].reduce(0) { sum, end in
      var facts = stat()
      return stat(home.ledgerPath + end, &facts) == 0 ? sum + Int64(facts.st_size) : sum
    }
  }
}

/// The text format of Prometheus.
private struct MetricsText {
  enum Kind: String { case counter, gauge, histogram }

  private(set) var text = ""

  mutating func family(_ name: String, _ help: String, _ kind: Kind) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
    let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
    let number = value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    text += name + (list.isEmpty ? "" : "{\(list)}") + " \(number)\n"
  }

  mutating func histogram(_ name: String, _ labels: [(String, String)], _ durations: EndTally.Durations) {
    for (bound, count) in zip(EndTally.Durations.bounds, durations.counts) {
      sample(name + "_bucket", labels + [("le", "\(bound)")], Double(count))
    }
    sample(name + "_bucket", labels + [("le", "+Inf")], Double(durations.count))
    sample(name + "_sum", labels, durations.seconds)
    sample(name + "_count", labels, Double(durations.count))
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
  }
}
