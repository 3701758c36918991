import LedgerPort
import Pipeline
import Platform

/// What was taken out of an attachment, as `sluice show` prints it: the first, and how many more there are.
struct ChildrenText {
  /// As many as are shown.
  static let most = 50

  private let parent: String
  private let rows: [AttachmentRecord]
  /// How many are not shown.
  private let more: Int

  /// - Throws: ``LedgerError`` if the ledger cannot be read.
  init(of record: AttachmentRecord, in ledger: any LedgerQueries) throws(LedgerError) {
    parent = record.origin.id
    rows = try ledger.children(of: record.key, after: nil, limit: Self.most).rows.map(\.attachment)
    more = rows.count < Self.most ? 0 : try ledger.childCount(of: record.key) - rows.count
  }

  /// A block for people; empty: there are none.
  func text(_ style: Style, _ hint: Hint) -> String {
    if rows.isEmpty { return "" }
    let names = rows.map { Terminal.printable($0.origin.fileName) }
    let width = names.map(\.count).max() ?? 0
    let statuses = rows.map(\.outcome.status.rawValue.count).max() ?? 0
    var text = "\nChildren\n"
    for (row, name) in zip(rows, names) {
      text += "  \(row.origin.id)  \(style.word(row.outcome.status.rawValue, width: statuses))  "
      guard let reason = row.outcome.reason else {
        text += "\(name)\n"
        continue
      }
      text +=
        "\(Help.pad(name, width))  \(Terminal.printable(reason.stage)): \(RecordText.reason(reason.code, reason.message))\n"
    }
    if more > 0 {
      text += "  and \(more) more; \(hint("list", "--parent", parent)) lists all, with what is in them\n"
    }
    return text
  }

  /// Members for programs: the same, and how many are left out.
  func write(to writer: inout JSONWriter) {
    writer.key("children")
    writer.array { writer in
      for row in rows {
        writer.object { writer in
          writer.member("id", row.origin.id)
          writer.member("fileName", row.origin.fileName)
          writer.member("state", row.outcome.status.rawValue)
          writer.member("code", row.outcome.reason?.code)
        }
      }
    }
    writer.member("moreChildren", Int64(more))
  }
}
