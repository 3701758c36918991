import LedgerPort
import Pipeline
import Platform

/// Equal contents: one goes ahead, the others link to its object, and hear what stages said of it.
///
/// The first attachment with a content goes on once the ledger has said what is known of that; others with the same content
/// wait until the first is on record.
final class ContentGate {
  private let pool: WorkerPool
  private let reuse: ReusePolicy
  private var gate = ObjectGate()
  /// Those whose content the ledger is to be asked about.
  private var lookups: [UInt64] = []

  init(_ pool: WorkerPool, _ reuse: ReusePolicy) {
    self.pool = pool
    self.reuse = reuse
  }

  /// True: the flight may go on. Otherwise it is let through later, by ``learn(_:_:_:)`` or ``leave(_:among:)``.
  func lets(_ flight: Flight) -> Bool {
    guard !flight.isTwinKnown, mindsContent, flight.isInLine, let sha256 = flight.run.sha256 else {
      return true
    }
    if !flight.holdsGate && gate.enter(sha256, flight.serial) {
      flight.holdsGate = true
      lookups.append(flight.serial)
    }
    return false
  }

  /// Whether it matters to anyone that a content has been here before.
  private var mindsContent: Bool { pool.line.contains { $0.capability == .store || $0.fingerprint != nil } }

  /// The flight has ended, or its content is another one now. Returns those that go on: all but the first of them link to its
  /// object, if it has one.
  func leave(_ flight: Flight, among flights: [UInt64: Flight]) -> [Flight] {
    guard flight.holdsGate, let sha256 = flight.run.sha256 else { return [] }
    flight.holdsGate = false
    // Some may have been cancelled meanwhile.
    let next = gate.leave(sha256).compactMap { flights[$0] }.filter(\.isInLine)
    guard flight.run.outcome == .completed, let path = flight.run.location else { return next }
    for one in next {
      (one.twin, one.isTwinKnown) = (path, true)
      // One that is tried again has left nothing beside its content.
      let derived = flight.derived ?? (flight.run.pieces.isEmpty ? flight.run.knownDerived : nil)
      if let fingerprint = flight.fingerprint, let derived, flight.claims == one.claims {
        repeatWords(
          .init(mediaType: flight.run.mediaType, metadata: flight.run.metadata, derived: derived),
          of: fingerprint, for: one)
      }
    }
    return next
  }

  // MARK: Asking the ledger

  /// What to ask about contents now. It waits until it is known what the first stages rest on.
  func nextQuestions(_ flights: [UInt64: Flight]) -> [(serial: UInt64, question: ContentQuestion)] {
    if lookups.isEmpty { return [] }
    if let first = pool.line.first, !first.wasReady, reuse == .verdicts { return [] }
    defer { lookups.removeAll(keepingCapacity: true) }
    return lookups.compactMap { serial in
      flights[serial].flatMap(question).map { (serial, $0) }
    }
  }

  private func question(_ flight: Flight) -> ContentQuestion? {
    guard let sha256 = flight.run.sha256.flatMap({ Hexadecimal.bytes($0) }), let claims = flight.claims else {
      return nil
    }
    let fingerprint = flight.run.isAtStart ? pool.line.first?.fingerprint : nil
    return ContentQuestion(sha256: sha256, size: flight.file.size, fingerprint: fingerprint, claims: claims)
  }

  /// Takes what the ledger knows of a flight's content. It may go on.
  func learn(_ flight: Flight, _ question: ContentQuestion, _ known: KnownContent) {
    (flight.twin, flight.isTwinKnown) = (known.url, true)
    if let said = known.said, let fingerprint = question.fingerprint {
      repeatWords(said, of: fingerprint, for: flight)
    }
  }

  /// Lets what the first stages said of equal content stand in for running them. Only what they declare is theirs: later ones
  /// run, and speak for themselves.
  private func repeatWords(_ said: KnownContent.Said, of fingerprint: String, for flight: Flight) {
    guard let group = pool.line.first, group.fingerprint == fingerprint,
      case .line(let range) = group.purpose,
      flight.run.repeatReport(
        mediaType: said.mediaType, metadata: said.metadata, derived: said.derived, of: range)
    else { return }
    flight.fingerprint = fingerprint
  }
}

extension Flight {
  /// What the sender says of the content.
  fileprivate var claims: ContentQuestion.Claims? {
    attachment.map { .init(declaredType: $0.origin.declaredType, fileName: $0.origin.fileName) }
  }
}
