import Platform

/// The rows as printed.
struct Table {
  var rows: [TableRow]

  private static let columns = [
    "what", "sluice", "unit", "peer", "its figure", "ratio", "spread", "goal", "reached",
  ]

  var text: String {
    var lines = [Self.columns]
    for row in rows { lines.append(cells(row)) }
    let widths = Self.columns.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    var text = ""
    for (line, row) in zip(lines, [nil] + rows.map(Optional.some)) {
      var cells: [String] = []
      for (column, cell) in line.enumerated() {
        // Numbers are aligned to the right.
        cells.append(
          [1, 4, 5].contains(column) ? pad(cell, widths[column], left: true) : pad(cell, widths[column]))
      }
      text += cells.joined(separator: "  ").trimmingTrailingSpaces + "\n"
      if let note = row?.skipped.map({ "skipped: \($0)" }) ?? row?.failed.map({ "failed: \($0)" })
        ?? row?.remark
      {
        text += "    \(note)\n"
      }
    }
    return text
  }

  /// One JSON object per line.
  var json: String {
    var lines = ""
    for row in rows {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("row", row.name)
        writer.member("unit", row.unit)
        number("sluice", row.figure, &writer)
        writer.member("peer", row.peer?.name)
        number("peerFigure", row.peer?.figure, &writer)
        number("ratio", row.peer == nil || row.skipped != nil ? nil : row.judged.median, &writer)
        number("least", row.judged.values.first, &writer)
        number("most", row.judged.values.last, &writer)
        writer.member("rounds", Int64(row.judged.values.count))
        writer.member("goal", row.goal.map { "\($0.sign) \(Self.number($0.value))" })
        writer.key("reached")
        if let isReached = row.isReached { writer.value(isReached) } else { writer.value(nil as String?) }
        if let reason = row.skipped { writer.member("skipped", reason) }
        if let reason = row.failed { writer.member("failed", reason) }
        if let remark = row.remark { writer.member("remark", remark) }
      }
      lines += writer.text + "\n"
    }
    return lines
  }

  private func number(_ key: String, _ value: Double?, _ writer: inout JSONWriter) {
    writer.key(key)
    if let value { writer.value((value * 1e4).rounded() / 1e4) } else { writer.value(nil as String?) }
  }

  private func cells(_ row: TableRow) -> [String] {
    let hasSpread = row.judged.values.count > 1
    let spread = hasSpread ? "\(Self.number(row.judged.least)) to \(Self.number(row.judged.most))" : ""
    return [
      row.name, row.figure.map(Self.number) ?? "", row.unit, row.peer?.name ?? "",
      row.peer.map { Self.number($0.figure) } ?? "", row.peer == nil ? "" : Self.number(row.judged.median),
      spread,
      row.goal.map { "\($0.sign) \(Self.number($0.value))" } ?? "",
      row.isReached.map { $0 ? "yes" : "NO" } ?? (row.skipped == nil ? "" : "skipped"),
    ]
  }

  /// A number with at least three significant digits, and never an exponent.
  static func number(_ value: Double) -> String {
    if !value.isFinite { return "-" }
    let size = abs(value)
    if size >= 99.95 || size == size.rounded() && size >= 10 { return grouped(Int64(value.rounded())) }
    let digits = size >= 9.995 ? 1 : 2
    let scale: Double = digits == 1 ? 10 : 100
    let scaled = Int64((size * scale).rounded())
    let fraction = String(scaled % Int64(scale))
    return (value < 0 ? "-" : "") + "\(scaled / Int64(scale))."
      + String(repeating: "0", count: digits - fraction.count) + fraction
  }

  private static func grouped(_ value: Int64) -> String {
    let digits = String(value)
    guard digits.count > 4 else { return digits }
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0 && (digits.count - index) % 3 == 0 && digits[digits.startIndex] != "-" { text += "," }
      text.append(digit)
    }
    return text
  }

  private func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
    let room = String(repeating: " ", count: max(width - text.count, 0))
    return left ? room + text : text + room
  }
}

extension String {
  fileprivate var trimmingTrailingSpaces: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
