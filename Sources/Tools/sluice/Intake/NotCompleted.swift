import LedgerPort
import Pipeline
import Platform

/// The attachments that were not completed, by status, stage and code. Its size is bounded, however many there are.
struct NotCompleted {
  private struct Kind: Hashable {
    var status: Status
    var stage: String
    var code: String
  }

  private struct Group {
    var kind: Kind
    var count: Int64 = 0
    /// The first.
    var example: String
    var message: String
  }

  /// The most kinds that are told apart.
  private static let limit = 100

  private var groups: [Kind: Group] = [:]
  /// Those of further kinds.
  private var others: Int64 = 0

  mutating func add(_ record: AttachmentRecord, _ lineage: Lineage) {
    let reason = record.outcome.reason
    let kind = Kind(status: record.outcome.status, stage: reason?.stage ?? "", code: reason?.code ?? "")
    if groups[kind] == nil {
      if groups.count >= Self.limit {
        others += 1
        return
      }
      groups[kind] = Group(
        kind: kind, example: lineage.name(record), message: reason?.message ?? "")
    }
    groups[kind]?.count += 1
  }

  var isEmpty: Bool { groups.isEmpty }

  /// Two lines for each kind, the most frequent first: how many there are and the command that lists them, then the first of them.
  ///
  /// - Parameter option: how the command names the home, with a space before it; empty: it need not.
  func text(homeOption option: String) -> String {
    let sorted = groups.values.sorted {
      ($1.count, $0.kind.stage, $0.kind.code) < ($0.count, $1.kind.stage, $1.kind.code)
    }
    var text = ""
    for group in sorted {
      let reason = [group.kind.stage, group.kind.code].filter { !$0.isEmpty }.map(Terminal.printable)
      let list = "sluice list" + filter(group.kind) + option
      let parts = reason + [Count.text(group.count, "attachment"), list]
      text += "  \(Help.pad(group.kind.status.rawValue, 11))  \(parts.joined(separator: ": "))\n"
      let message = group.message.isEmpty ? "" : ": \(Terminal.printable(group.message))"
      text += "               \(group.example)\(message)\n"
    }
    if others > 0 { text += "  and \(Count.text(others, "attachment")) for other reasons\n" }
    return text
  }

  /// Options of `sluice list`, with a space before each.
  private func filter(_ kind: Kind) -> String {
    if kind.code.isEmpty { return " --status \(kind.status.rawValue)" }
    // Two stages may have the same code.
    let isShared = groups.keys.contains { $0.code == kind.code && $0.stage != kind.stage }
    return (isShared ? " --stage \(ShellWord.of(kind.stage))" : "") + " --code \(ShellWord.of(kind.code))"
  }
}
