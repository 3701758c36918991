import Platform

/// The rows measured so far.
final class Report {
  private(set) var rows: [TableRow] = []
  /// Where the next rows are measured.
  var disk: Disk?

  /// Measures some rows. A failure or a missing program costs only these rows.
  func measure(_ name: String, _ body: () throws -> [TableRow]) {
    let started = Clock.monotonic()
    do {
      add(try body())
    } catch let skipped as Skipped {
      add([TableRow(name, skipped: skipped.reason)])
    } catch {
      progress("\(name): \(error)")
      add([TableRow(name, failed: "\(error)")])
    }
    progress("\(name) took \(Table.number(Double(Clock.monotonic() - started) / 1e9)) s")
  }

  private func add(_ measured: [TableRow]) {
    for var row in measured {
      row.disk = disk
      rows.append(row)
    }
  }
}
