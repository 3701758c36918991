import LedgerPort
import Pipeline
import Platform
import Reporting

/// The drawings of a report, as SVG for a page of HTML. Colors are variables of the page's style, for dark and light.
enum ReportPlot {
  private static let width = 720.0

  /// One bar with a part for each outcome.
  static func outcomes(_ tally: ReportTally) -> String {
    var parts = ""
    var left = 0.0
    for status in Status.allCases {
      guard let count = tally.outcomes[status]?.count, count > 0 else { continue }
      let length = width * Double(count) / Double(tally.all.count)
      // The smallest part is seen, too.
      let shown = max(length, 2)
      parts += rectangle(
        left, 0, shown, 24, "--\(status.rawValue)",
        "\(status.rawValue): \(ReportPage.number(count)) (\(ReportPage.percent(count, of: tally.all.count)))")
      left += length
    }
    return svg(height: 24, label: "The share of each outcome", parts)
  }

  /// A bar for each interval.
  static func intake(_ intake: IntakeHistogram) -> String {
    let intervals = intake.intervals
    guard let most = intervals.map(\.count).max(), most > 0 else { return "" }
    let (top, height) = (16.0, 120.0)
    let step = width / Double(max(intervals.count, 12))
    var parts = ""
    for (index, interval) in intervals.enumerated() where interval.count > 0 {
      let length = max(height * Double(interval.count) / Double(most), 1)
      parts += rectangle(
        Double(index) * step, top + height - length, max(step - 1, 1), length, "--bar",
        "\(Clock.timestamp(interval.start)): \(ReportPage.number(interval.count))")
    }
    let width = ReportText.width(intake.width)
    parts += text(0, 10, "at most \(ReportPage.number(most)) in \(width)")
    if let first = intervals.first, let last = intervals.last {
      parts += text(0, top + height + 14, Clock.timestamp(first.start))
      if intervals.count > 1 {
        parts += text(Self.width, top + height + 14, Clock.timestamp(last.start), anchor: "end")
      }
    }
    return svg(height: top + height + 20, label: "Attachments taken in over time", parts)
  }

  /// Stages that are drawn; the table has all.
  private static let mostStages = 30

  /// For each stage a line from the median to the longest time with a bar up to the 99th percentile, on a scale of powers of ten.
  static func stages(_ tally: ReportTally) -> String {
    let stages = tally.stages.prefix(mostStages)
    guard let longest = stages.map(\.microseconds.largest).max(), longest > 0 else { return "" }
    let (left, row) = (130.0, 22.0)
    let decades = max(Double(String(longest).count), 1)
    func place(_ microseconds: Int64) -> Double {
      let power = microseconds <= 1 ? 0 : logarithm(Double(microseconds))
      return left + (width - left - 8) * min(power / decades, 1)
    }
    var parts = ""
    let height = row * Double(stages.count)
    var tick: Int64 = 1
    for _ in 0...Int(decades) {
      let x = place(tick)
      parts +=
        "<line x1=\"\(number(x))\" x2=\"\(number(x))\" y1=\"0\" y2=\"\(number(height))\" stroke=\"var(--line)\"/>\n"
      parts += text(x, height + 12, label(ofTick: tick), anchor: "middle")
      tick = tick.multipliedReportingOverflow(by: 10).partialValue
    }
    for (index, stage) in stages.enumerated() {
      let times = stage.microseconds
      let (middle, p99) = (times.quantile(0.5), times.quantile(0.99))
      let y = row * Double(index) + row / 2
      let (start, end, far) = (place(middle), place(p99), place(times.largest))
      let title = [middle, p99, times.largest].map { ReportPage.duration(microseconds: $0) }
      parts += text(left - 8, y + 4, shortened(stage.name), anchor: "end")
      parts +=
        "<line x1=\"\(number(start))\" x2=\"\(number(far))\" y1=\"\(number(y))\" y2=\"\(number(y))\" stroke=\"var(--bar)\"/>\n"
      parts += rectangle(
        start, y - 5, max(end - start, 2), 10, "--bar",
        "\(stage.name): median \(title[0]), 99 % \(title[1]), longest \(title[2])")
    }
    return svg(height: height + 18, label: "Median, 99th percentile and longest time of each stage", parts)
  }

  private static func shortened(_ name: String) -> String {
    name.count > 18 ? String(name.prefix(17)) + "…" : name
  }

  private static func label(ofTick microseconds: Int64) -> String {
    switch microseconds {
    case ..<1000: "\(microseconds) µs"
    case ..<1_000_000: "\(microseconds / 1000) ms"
    default: "\(microseconds / 1_000_000) s"
    }
  }

  /// The logarithm to base 10 of a number from 1, good to a thousandth: by its digits, and a line between squares.
  private static func logarithm(_ number: Double) -> Double {
    var (number, power, part) = (number, 0.0, 0.5)
    while number >= 10 {
      number /= 10
      power += 1
    }
    for _ in 0..<12 {
      number *= number
      if number >= 10 {
        number /= 10
        power += part
      }
      part /= 2
    }
    return power
  }

  // MARK: Elements

  private static func svg(height: Double, label: String, _ content: String) -> String {
    """
    <svg viewBox="0 0 \(number(width)) \(number(height))" role="img" aria-label="\(ReportHTML.escaped(label))">
    \(content)</svg>

    """
  }

  private static func rectangle(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: String, _ title: String
  ) -> String {
    "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(width))\" height=\"\(number(height))\" fill=\"var(\(color))\">"
      + "<title>\(ReportHTML.escaped(title))</title></rect>\n"
  }

  private static func text(_ x: Double, _ y: Double, _ text: String, anchor: String = "start") -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\">\(ReportHTML.escaped(text))</text>\n"
  }

  private static func number(_ value: Double) -> String { Decimal.text(value, 1) }
}
