import LedgerPort
import Pipeline
import Platform

/// A report as one JSON object.
package enum ReportJSON {
  package static func text(_ page: ReportPage) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "report")
      writer.member("home", page.home)
      members(page, to: &writer)
    }
    return writer.text + "\n"
  }

  /// Its figures.
  package static func members(_ page: ReportPage, to writer: inout JSONWriter) {
    let tally = page.tally
    writer.member("madeAt", Clock.timestamp(page.madeAt))
    writer.member("count", tally.all.count)
    writer.member("sizeBytes", tally.all.bytes)
    writer.member("firstAt", tally.intake.first.map(Clock.timestamp))
    writer.member("lastAt", tally.intake.last.map(Clock.timestamp))
    outcomes(tally, &writer)
    times(tally, &writer)
    let (duplicates, isExact) = tally.duplicates
    writer.key("duplicates")
    writer.object { writer in
      writer.member("count", duplicates.count)
      writer.member("sizeBytes", duplicates.bytes)
      writer.key("isExact")
      writer.value(isExact)
    }
    extremes("largest", tally.largest, page, &writer) { $0.member("sizeBytes", $1) }
    extremes("slowest", tally.slowest, page, &writer) { milliseconds("milliseconds", $1, &$0) }
    intake(tally.intake, &writer)
  }

  private static func outcomes(_ tally: ReportTally, _ writer: inout JSONWriter) {
    writer.key("outcomes")
    writer.object { writer in
      for status in Status.allCases {
        let sum = tally.outcomes[status] ?? .init()
        writer.key(status.rawValue)
        writer.object { sized(sum, &$0) }
      }
    }
    writer.key("reasons")
    writer.array { writer in
      for (key, count) in tally.reasonsByCount {
        writer.object { writer in
          writer.member("status", key.status.rawValue)
          writer.member("stage", key.stage)
          writer.member("code", key.code)
          writer.member("count", count)
        }
      }
    }
    writer.key("types")
    writer.array { writer in
      for (type, sum) in tally.typesByCount {
        writer.object { writer in
          writer.member("mediaType", type)
          sized(sum, &writer)
        }
      }
    }
  }

  private static func sized(_ sum: ReportTally.Sum, _ writer: inout JSONWriter) {
    writer.member("count", sum.count)
    writer.member("sizeBytes", sum.bytes)
  }

  private static func times(_ tally: ReportTally, _ writer: inout JSONWriter) {
    writer.key("stages")
    writer.array { writer in
      for (name, times) in tally.stages {
        writer.object { writer in
          writer.member("stage", name)
          quantiles(times, &writer) { $0 }
        }
      }
    }
    writer.key("intakeToEnd")
    writer.object { quantiles(tally.latency, &$0) { $0 &* 1000 } }
  }

  private static func quantiles(
    _ times: LogHistogram, _ writer: inout JSONWriter, _ microseconds: (Int64) -> Int64
  ) {
    writer.member("count", times.count)
    for (key, value) in [
      ("medianMilliseconds", times.quantile(0.5)), ("p99Milliseconds", times.quantile(0.99)),
      ("maxMilliseconds", times.largest), ("totalMilliseconds", times.sum),
    ] {
      milliseconds(key, microseconds(value), &writer)
    }
  }

  private static func milliseconds(_ key: String, _ microseconds: Int64, _ writer: inout JSONWriter) {
    writer.key(key)
    writer.value(Double(microseconds) / 1000)
  }

  private static func extremes(
    _ key: String, _ extremes: [ReportTally.Extreme], _ page: ReportPage, _ writer: inout JSONWriter,
    _ value: (inout JSONWriter, Int64) -> Void
  ) {
    writer.key(key)
    writer.array { writer in
      for extreme in extremes {
        writer.object { writer in
          writer.member("id", extreme.id)
          writer.member("fileName", page.records[extreme.id]?.origin.fileName)
          value(&writer, extreme.value)
        }
      }
    }
  }

  private static func intake(_ intake: IntakeHistogram, _ writer: inout JSONWriter) {
    writer.key("intake")
    writer.object { writer in
      writer.member("intervalSeconds", intake.width / 1000)
      writer.key("intervals")
      writer.array { writer in
        for interval in intake.intervals {
          writer.object { writer in
            writer.member("at", Clock.timestamp(interval.start))
            writer.member("count", interval.count)
          }
        }
      }
    }
  }
}
