import Ledger

/// Positions in the stream of changes, as they are printed.
enum PositionText {
  /// The history and the number of the change: `4611686018427387904-1207`.
  static func text(_ position: Position) -> String { "\(position.history)-\(position.number)" }

  /// Reads what ``text(_:)`` gives; `nil`: it is none.
  static func position(_ text: String) -> Position? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
    guard parts.count == 2, let history = parts[0], let number = parts[1] else { return nil }
    return Position(history: history, number: number)
  }
}
