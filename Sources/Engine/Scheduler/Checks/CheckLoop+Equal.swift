import LedgerPort
import Pipeline
import Platform

// Equal contents: what stages said of one, where they promise to say it again.
extension CheckLoop {
  /// What stages said of a content, which they promise to say again.
  struct Known: Hashable {
    var fingerprint: String
    var sha256: String
    var fileName: ByteText
    var declaredType: String?
  }

  private func key(_ one: Pending, _ fingerprint: String?) -> Known? {
    guard let fingerprint, let sha256 = one.flight.run.sha256 else { return nil }
    let check = one.asked.check
    return Known(
      fingerprint: fingerprint, sha256: sha256, fileName: ByteText(check.fileName),
      declaredType: check.declaredType)
  }

  /// Lets what the first stages said of equal content stand in for running them.
  func repeatWords(_ one: Pending) {
    guard one.flight.run.isAtStart, let group = pool?.line.first, case .line(let range) = group.purpose,
      let key = key(one, group.fingerprint), let said = known[key],
      one.flight.run.repeatReport(mediaType: said.mediaType, metadata: said.metadata, derived: [], of: range)
    else { return }
    one.flight.fingerprint = group.fingerprint
  }

  func remember(_ one: Pending) {
    let run = one.flight.run
    guard run.outcome == .completed, let key = key(one, one.flight.fingerprint) else { return }
    if known.count >= Self.mostKnown { known.removeAll(keepingCapacity: true) }
    known[key] = KnownContent.Said(mediaType: run.mediaType, metadata: run.metadata)
  }
}
