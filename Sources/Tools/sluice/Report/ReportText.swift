import LedgerPort
import Pipeline
import Platform
import Reporting

/// A report as text for people.
struct ReportText {
  var page: ReportPage
  var style: Style

  private var tally: ReportTally { page.tally }

  var text: String {
    var text = "\(ReportPage.number(tally.all.count)) \(Count.things(tally.all.count, "attachment"))"
    if let first = tally.intake.first, let last = tally.intake.last {
      text += ", taken in from \(Clock.timestamp(first)) to \(Clock.timestamp(last))"
    }
    text += "; \(ByteSize.rounded(tally.all.bytes))\n"
    if tally.all.count == 0 { return text }
    text += section("Outcomes", outcomes, numbers: 1...3)
    text += section("Not completed", reasons, numbers: 3...3)
    text += section("Types", types, numbers: 1...2)
    text += section("Stages", stages, numbers: 1...4)
    text += section("From intake to end", latency, numbers: 1...1)
    text += section("Duplicates", duplicates, numbers: 1...1)
    text += section(
      "Largest", tally.largest.map { [ByteSize.rounded($0.value), $0.id, page.name($0)] }, numbers: 0...0)
    text += section(
      "Slowest in stages",
      tally.slowest.map { [ReportPage.duration(microseconds: $0.value), $0.id, page.name($0)] },
      numbers: 0...0)
    text += section(
      "Intake, in intervals of \(Self.width(coarse.width))", intake, numbers: 1...1)
    return text
  }

  /// Rows of cells in columns.
  ///
  /// - Parameter numbers: the columns that end at the same place.
  private func section(_ title: String, _ rows: [[String]], numbers: ClosedRange<Int>) -> String {
    if rows.isEmpty { return "" }
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.map { $0.count > column && $0.count > 1 ? $0[column].count : 0 }.max() ?? 0
    }
    var text = "\n\(title)\n"
    for row in rows {
      let cells = row.enumerated().map { index, cell in
        let space = String(repeating: " ", count: max(widths[index] - cell.count, 0))
        if numbers.contains(index) && row.count > 1 { return space + cell }
        return (index == 0 ? style.word(cell) : cell) + (index == row.count - 1 ? "" : space)
      }
      text += "  \(cells.joined(separator: "  "))\n"
    }
    return text
  }

  static func width(_ milliseconds: Int64) -> String {
    milliseconds % 86_400_000 == 0
      ? Count.text(milliseconds / 86_400_000, "day") : Age.text(milliseconds: milliseconds)
  }

  // MARK: Rows

  private var outcomes: [[String]] {
    Status.allCases.compactMap { status in
      tally.outcomes[status].map {
        [
          status.rawValue, ReportPage.number($0.count), ReportPage.percent($0.count, of: tally.all.count),
          ByteSize.rounded($0.bytes),
        ]
      }
    }
  }

  /// Rows of each kind that are shown; JSON has all.
  private static let most = 20

  private var reasons: [[String]] {
    let reasons = tally.reasonsByCount
    return reasons.prefix(Self.most).map {
      [
        $0.key.status.rawValue, Terminal.printable($0.key.stage), Terminal.printable($0.key.code),
        ReportPage.number($0.value),
      ]
    } + more(reasons.count)
  }

  private var types: [[String]] {
    let types = tally.typesByCount
    return types.prefix(Self.most).map {
      [Terminal.printable($0.key), ReportPage.number($0.value.count), ByteSize.rounded($0.value.bytes)]
    } + more(types.count)
  }

  private func more(_ count: Int) -> [[String]] {
    count > Self.most ? [["and \(ReportPage.number(Int64(count - Self.most))) more"]] : []
  }

  private var stages: [[String]] {
    if tally.stages.isEmpty { return [] }
    return [["", "runs", "median", "99 %", "longest"]]
      + tally.stages.map { stage in
        [Terminal.printable(stage.name), ReportPage.number(stage.microseconds.count)]
          + [
            stage.microseconds.quantile(0.5), stage.microseconds.quantile(0.99), stage.microseconds.largest,
          ].map { ReportPage.duration(microseconds: $0) }
      }
  }

  private var latency: [[String]] {
    if tally.latency.count == 0 { return [] }
    return [
      ("median", tally.latency.quantile(0.5)), ("99 %", tally.latency.quantile(0.99)),
      ("longest", tally.latency.largest),
    ].map { [$0.0, ReportPage.duration(milliseconds: Double($0.1))] }
  }

  private var duplicates: [[String]] {
    let (sum, isExact) = tally.duplicates
    let about = isExact ? "" : "some "
    return [
      ["stored before", about + ReportPage.number(sum.count)],
      ["not stored again", about + ByteSize.rounded(sum.bytes)],
    ]
  }

  /// Few intervals, and only those in which something came.
  private var intake: [[String]] {
    let most = coarse.intervals.map(\.count).max() ?? 0
    return coarse.intervals.filter { $0.count > 0 }.map { interval in
      let length = Int((Double(interval.count) / Double(most) * 40).rounded(.up))
      return [
        String(Clock.timestamp(interval.start).prefix(19)) + "Z", ReportPage.number(interval.count),
        String(repeating: "#", count: length),
      ]
    }
  }

  private var coarse: IntakeHistogram { tally.intake.widened(to: 24) }
}
