import Platform

/// The rows as printed: first Sluice beside other programs, then its own limits.
struct Table {
  var rows: [TableRow]
  var disks: [Disk] = []
  /// What the reader has to know of the disks.
  var notes: [String] = []

  /// A name longer than this gets a line of its own.
  private static let longestName = 48

  var text: String {
    // The same row on another disk comes next to it.
    var order: [String: Int] = [:]
    for row in rows where order[row.subject] == nil { order[row.subject] = order.count }
    let sorted = rows.enumerated().sorted {
      let (first, second) = (order[$0.element.subject] ?? 0, order[$1.element.subject] ?? 0)
      return (first, $0.offset) < (second, $1.offset)
    }.map(\.element)
    return
      ([head] + [Self.section(sorted.filter(\.isBesideOthers), Column.beside)]
      + [Self.section(sorted.filter { !$0.isBesideOthers }, Column.own)]).filter { !$0.isEmpty }
      .joined(separator: "\n")
  }

  private var head: String {
    disks.map { disk in
      "\(disk.fileSystem), \(disk.origin): 4 KiB written and synced in \(disk.syncCost), "
        + "the median of \(disk.syncs.values.count)\n"
    }.joined() + notes.map { $0 + "\n" }.joined()
  }

  // MARK: Columns

  private struct Column: Sendable {
    var title: String
    /// Numbers are aligned to the right.
    var isNumber = false
    var cell: @Sendable (TableRow) -> String

    private static let disk = [
      Column(title: "disk") { $0.disk?.fileSystem ?? "" },
      Column(title: "a sync", isNumber: true) { $0.disk?.syncCost ?? "" },
    ]
    private static let figure = [
      Column(title: "sluice", isNumber: true) { $0.figure.map(Table.number) ?? "" },
      Column(title: "unit") { $0.unit },
    ]
    private static let peer = [
      Column(title: "peer") { $0.peer?.name ?? "" },
      Column(title: "its", isNumber: true) { $0.peer.map { Table.number($0.figure) } ?? "" },
      Column(title: "ratio", isNumber: true) { $0.peer == nil ? "" : Table.number($0.judged.median) },
    ]
    private static let verdict = [
      Column(title: "spread") { Table.spread($0.judged) },
      Column(title: "goal") { row in row.goal.map { "\($0.sign) \(Table.number($0.value))" } ?? "" },
      Column(title: "ok") { row in row.isReached.map { $0 ? "yes" : "NO" } ?? "" },
    ]
    private static let processor = [
      Column(title: "CPU us", isNumber: true) { $0.processor.map { Table.number($0.ours.median) } ?? "" },
      Column(title: "its", isNumber: true) { $0.processor.map { Table.number($0.theirs.median) } ?? "" },
      Column(title: "ratio", isNumber: true) { $0.processor.map { Table.number($0.ratios.median) } ?? "" },
    ]

    static let beside = disk + figure + peer + verdict + processor
    static let own = disk + figure + peer + verdict
  }

  private static func section(_ rows: [TableRow], _ all: [Column]) -> String {
    // Without those that no row fills.
    let columns = all.filter { column in rows.contains { !column.cell($0).isEmpty } }
    if rows.isEmpty { return "" }
    let cells = rows.map { row in columns.map { $0.cell(row) } }
    let widths = columns.indices.map { column in
      (cells.map { $0[column].count } + [columns[column].title.count]).max() ?? 0
    }
    let names = rows.map(\.name.count).filter { $0 <= longestName }
    let width = max(names.max() ?? 0, "what".count)
    func line(_ name: String, _ cells: [String]) -> String {
      var text = pad(name, width)
      for (index, cell) in cells.enumerated() {
        text += "  " + pad(cell, widths[index], left: columns[index].isNumber)
      }
      return text.trimmingTrailingSpaces + "\n"
    }
    var text = line("what", columns.map(\.title))
    for (row, cells) in zip(rows, cells) {
      if row.name.count > longestName { text += row.name + "\n" }
      text += line(row.name.count > longestName ? "" : row.name, cells)
      if let note = row.note { text += "    \(note)\n" }
    }
    return text
  }

  private static func spread(_ series: Series) -> String {
    series.values.count > 1 ? "\(number(series.least))–\(number(series.most))" : ""
  }

  // MARK: JSON

  /// One JSON object per line.
  var json: String {
    var lines = ""
    for row in rows {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("row", row.name)
        writer.member("fileSystem", row.disk?.fileSystem)
        number("syncMicroseconds", row.disk.map { $0.syncs.median * 1e6 }, &writer)
        writer.member("unit", row.unit)
        number("sluice", row.figure, &writer)
        writer.member("peer", row.peer?.name)
        number("peerFigure", row.peer?.figure, &writer)
        number("ratio", row.peer == nil || row.skipped != nil ? nil : row.judged.median, &writer)
        number("least", row.judged.values.first, &writer)
        number("most", row.judged.values.last, &writer)
        writer.member("rounds", Int64(row.judged.values.count))
        number("cpuMicroseconds", row.processor?.ours.median, &writer)
        number("peerCPUMicroseconds", row.processor?.theirs.median, &writer)
        number("cpuRatio", row.processor?.ratios.median, &writer)
        number("cpuLeast", row.processor?.ratios.least, &writer)
        number("cpuMost", row.processor?.ratios.most, &writer)
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

  // MARK: Text

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

  private static func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
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
