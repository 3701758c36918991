import LedgerPort
import Platform

/// What was taken out of attachments that are deleted by their ids, and is not deleted with them.
struct LeftBehind {
  private var parents: [String] = []
  private var count = 0
  /// The first of them, as many as are named.
  private var children: [String] = []

  private static let mostNamed = 20
  /// Ids that are looked at.
  private static let mostParents = 100

  init(_ ids: Set<String>, _ ledger: any LedgerQueries) throws(LedgerError) {
    for id in ids.sorted().prefix(Self.mostParents) {
      guard let parent = try ledger.attachments(idPrefix: id).first else { continue }
      let some = try ledger.children(of: parent.key, after: nil, limit: Self.mostNamed).rows
      let left = some.map(\.attachment.origin.id).filter { !ids.contains($0) }
      if left.isEmpty { continue }
      parents.append(id)
      count += some.count < Self.mostNamed ? left.count : try ledger.childCount(of: parent.key)
      children += left.prefix(Self.mostNamed - children.count)
    }
  }

  /// What is said of them; `nil`: there are none.
  func text(_ hint: Hint, isDryRun: Bool) -> String? {
    guard count > 0 else { return nil }
    let what =
      "\(Count.text(Int64(count), "attachment")) that came out of \(parents.count == 1 ? "it" : "them")"
    if isDryRun {
      let commands = parents.prefix(3).map { hint("delete", "--parent", $0) }.joined(separator: ", ")
      return "\(what) would stay; \(commands)\(parents.count > 3 ? ", …" : ""), before, deletes them"
    }
    return
      "\(what) \(count == 1 ? "stays" : "stay"); \(hint("delete", children.joined(separator: " "))) deletes "
      + (count > children.count ? "the first of them" : "them, too")
  }
}
