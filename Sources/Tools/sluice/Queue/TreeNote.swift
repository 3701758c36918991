import LedgerPort
import Pipeline
import Platform

/// Why a verb found nothing to do among what was taken out of an attachment, and what leads on.
enum TreeNote {
  /// - Parameters:
  ///   - id: of the attachment that `--parent` names.
  ///   - instead: what the verb itself does to that one while nothing is taken out of it: `` `sluice cancel ID` takes it back``.
  /// - Returns: a sentence; `nil`: the attachment was deleted meanwhile.
  /// - Throws: ``LedgerError`` if the ledger cannot be read.
  static func text(
    _ id: String, _ ledger: any LedgerQueries, _ hint: Hint, instead: (String) -> String?
  ) throws(LedgerError) -> String? {
    guard let parent = try ledger.attachments(idPrefix: id).first else { return nil }
    let name = "\(id) (\(Terminal.printable(parent.origin.fileName)))"
    if try ledger.childCount(of: parent.key) > 0 {
      return
        "of what was taken out of \(name), nothing answers to that; \(hint("list", "--parent", id)) lists it"
    }
    let show = "\(hint("show", id)) tells more"
    if parent.outcome.status.isFinal {
      return "nothing was taken out of \(name), which is \(parent.outcome.status.rawValue); \(show)"
    }
    return "nothing is taken out of \(name) yet, which is queued; \(instead(id) ?? show)"
  }
}
