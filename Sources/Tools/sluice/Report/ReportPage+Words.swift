import LedgerPort
import Platform
import Reporting

// Parts of a report as people read them.
extension ReportPage {
  /// The file name of one that stands out, for people.
  func name(_ extreme: ReportTally.Extreme) -> String {
    records[extreme.id].map { Terminal.printable($0.origin.fileName) } ?? "(deleted)"
  }

  /// Milliseconds for people.
  static func duration(microseconds: Int64) -> String { duration(milliseconds: Double(microseconds) / 1000) }

  static func duration(milliseconds: Double) -> String {
    switch milliseconds {
    case ..<1: "\(Decimal.text(milliseconds, 3)) ms"
    case ..<100: "\(Decimal.text(milliseconds, 1)) ms"
    case ..<1000: "\(Decimal.text(milliseconds, 0)) ms"
    case ..<60_000: "\(Decimal.text(milliseconds / 1000, 1)) s"
    default: Age.text(milliseconds: Int64(exactly: milliseconds.rounded()) ?? .max)
    }
  }

  /// A part of a whole in percent, with a place after the point.
  static func percent(_ part: Int64, of whole: Int64) -> String {
    whole == 0 ? "0.0 %" : "\(Decimal.text(Double(part) / Double(whole) * 100, 1)) %"
  }

  /// A number with a comma for every three digits.
  static func number(_ number: Int64) -> String { Count.grouped(Int(number)) }
}
