import Platform

/// The rows measured so far.
final class Report {
  private(set) var rows: [TableRow] = []

  /// Measures some rows. A failure or a missing program costs only these rows.
  func measure(_ name: String, _ body: () throws -> [TableRow]) {
    let started = Clock.monotonic()
    do {
      rows += try body()
    } catch let skipped as Skipped {
      rows.append(TableRow(name, skipped: skipped.reason))
    } catch {
      progress("\(name): \(error)")
      rows.append(TableRow(name, failed: "\(error)"))
    }
    progress("\(name) took \(Table.number(Double(Clock.monotonic() - started) / 1e9)) s")
  }
}
