import LedgerPort
import Pipeline
import Platform
import Reporting

/// A report as one page of HTML that needs nothing from elsewhere: no scripts, drawings as SVG in it. All text is escaped.
enum ReportHTML {
  static func text(_ page: ReportPage) -> String {
    let tally = page.tally
    var body = "<h1>Attachments</h1>\n<p>\(escaped(summary(page)))</p>\n"
    if tally.all.count > 0 {
      body += section("Outcomes", ReportPlot.outcomes(tally) + outcomes(tally))
      body += section("Intake", ReportPlot.intake(tally.intake))
      body += section("Not completed", reasons(tally))
      body += section("Time in stages", ReportPlot.stages(tally) + stages(tally))
      body += section("Types", types(tally))
      body += section("Duplicates", duplicates(tally))
      body += section(
        "Largest", extremes(tally.largest, page, "size") { ByteSize.rounded($0) })
      body += section(
        "Slowest in stages", extremes(tally.slowest, page, "time") { ReportPage.duration(microseconds: $0) })
    }
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <meta name="referrer" content="no-referrer">
      <title>Sluice report</title>
      <style>
      \(style)
      </style>
      </head>
      <body>
      <main>
      \(body)</main>
      </body>
      </html>

      """
  }

  /// Text as it may stand between tags and in attributes. Characters that are not seen, or that turn text around, are shown as
  /// escapes.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in Terminal.printable(text).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static let style = """
    :root { color-scheme: light dark; --back: #ffffff; --text: #1c2024; --faint: #60686f; --line: #d8dde2;
      --bar: #3b6ea5; --completed: #2e7d4f; --queued: #8a94a0; --rejected: #b7791f; --failed: #b3372f;
      --quarantined: #7b3f9d; --cancelled: #5b6b7b; }
    @media (prefers-color-scheme: dark) { :root { --back: #14181c; --text: #e6e9ec; --faint: #9aa4ad; --line: #333b43;
      --bar: #6ea3dc; --completed: #57b37c; --queued: #7c8894; --rejected: #d9a441; --failed: #e0675e;
      --quarantined: #b583d3; --cancelled: #93a3b3; } }
    body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
    main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem; }
    h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
    p { color: var(--faint); margin: .25rem 0; }
    .wide { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line);
      overflow-wrap: anywhere; vertical-align: top; }
    th { color: var(--faint); font-weight: 500; }
    td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    code { font: 13px/1.5 ui-monospace, monospace; }
    svg { width: 100%; height: auto; display: block; margin: .5rem 0; }
    svg text { fill: var(--faint); font-size: 11px; }
    """

  private static func section(_ title: String, _ content: String) -> String {
    content.isEmpty ? "" : "<section>\n<h2>\(title)</h2>\n\(content)</section>\n"
  }

  private static func summary(_ page: ReportPage) -> String {
    let tally = page.tally
    var text = "\(ReportPage.number(tally.all.count)) \(Count.things(tally.all.count, "attachment")), "
    text += ByteSize.rounded(tally.all.bytes)
    if let first = tally.intake.first, let last = tally.intake.last {
      text += ", taken in from \(Clock.timestamp(first)) to \(Clock.timestamp(last))"
    }
    return "\(text). Made \(Clock.timestamp(page.madeAt)) from \(page.home)."
  }

  // MARK: Tables

  /// - Parameters:
  ///   - head: the columns' titles.
  ///   - numbers: the columns with numbers.
  private static func table(_ head: [String], numbers: ClosedRange<Int>, _ rows: [[String]]) -> String {
    func row(_ cells: [String], _ tag: String) -> String {
      let cells = cells.enumerated().map { index, cell in
        "<\(tag)\(numbers.contains(index) ? " class=\"number\"" : "")>\(escaped(cell))</\(tag)>"
      }
      return "<tr>\(cells.joined())</tr>\n"
    }
    return
      "<div class=\"wide\"><table>\n\(row(head, "th"))\(rows.map { row($0, "td") }.joined())</table></div>\n"
  }

  private static func outcomes(_ tally: ReportTally) -> String {
    table(
      ["outcome", "attachments", "share", "size"], numbers: 1...3,
      Status.allCases.compactMap { status in
        tally.outcomes[status].map {
          [
            status.rawValue, ReportPage.number($0.count), ReportPage.percent($0.count, of: tally.all.count),
            ByteSize.rounded($0.bytes),
          ]
        }
      })
  }

  private static func reasons(_ tally: ReportTally) -> String {
    if tally.reasons.isEmpty { return "" }
    return table(
      ["outcome", "stage", "code", "attachments"], numbers: 3...3,
      tally.reasonsByCount.map {
        [$0.key.status.rawValue, $0.key.stage, $0.key.code, ReportPage.number($0.value)]
      })
  }

  private static func stages(_ tally: ReportTally) -> String {
    if tally.stages.isEmpty { return "" }
    var rows = tally.stages.map { row($0.name, $0.microseconds) { ReportPage.duration(microseconds: $0) } }
    rows.append(row("from intake to end", tally.latency) { ReportPage.duration(milliseconds: Double($0)) })
    return table(["stage", "runs", "median", "99 %", "longest"], numbers: 1...4, rows)
  }

  private static func row(_ name: String, _ times: LogHistogram, _ duration: (Int64) -> String) -> [String] {
    [name, ReportPage.number(times.count)]
      + [times.quantile(0.5), times.quantile(0.99), times.largest].map(duration)
  }

  private static func types(_ tally: ReportTally) -> String {
    if tally.types.isEmpty { return "" }
    return table(
      ["type", "attachments", "size"], numbers: 1...2,
      tally.typesByCount.map {
        [$0.key, ReportPage.number($0.value.count), ByteSize.rounded($0.value.bytes)]
      })
  }

  private static func duplicates(_ tally: ReportTally) -> String {
    let (sum, isExact) = tally.duplicates
    let count = "\(isExact ? "" : "some ")\(ReportPage.number(sum.count))"
    return
      "<p>\(count) with content that was stored before; \(isExact ? "" : "some ")\(ByteSize.rounded(sum.bytes)) not stored again.</p>\n"
  }

  private static func extremes(
    _ extremes: [ReportTally.Extreme], _ page: ReportPage, _ title: String, _ value: (Int64) -> String
  ) -> String {
    if extremes.isEmpty { return "" }
    return table(
      [title, "file name", "type", "id"], numbers: 0...0,
      extremes.map {
        [value($0.value), page.name($0), page.records[$0.id]?.outcome.mediaType ?? "", $0.id]
      })
  }
}
