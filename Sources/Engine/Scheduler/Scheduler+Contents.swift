import Ledger
import Pipeline
import Platform

// Equal contents: one goes ahead, the others link to its object, and hear what stages said of it.
extension Scheduler {
  // MARK: The gate

  /// True: the flight may go on. Otherwise it is sent on later: when the ledger has said what is known of its content, or when
  /// the one ahead with the same content is on record.
  func passGate(_ flight: Flight) -> Bool {
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
  private var mindsContent: Bool { pool.line.contains { $0.capability == .store || $0.line != nil } }

  /// The flight has ended: those with the same content go on. All but the first link to its object.
  func leaveGate(_ flight: Flight) {
    guard flight.holdsGate, let sha256 = flight.run.sha256 else { return }
    let path = flight.run.outcome == .completed ? flight.run.location : nil
    for serial in gate.leave(sha256) {
      guard let next = flights[serial] else { continue }
      if let path {
        next.twin = path
        next.isTwinKnown = true
        if let line = flight.line, claims(of: flight) == claims(of: next) {
          repeatWords(
            .init(mediaType: flight.run.mediaType, metadata: flight.run.metadata), of: line, for: next)
        }
      }
      route(next)
    }
  }

  // MARK: Asking the ledger

  /// Whether contents wait to be asked for until it is known what the first stages rest on.
  var awaitsLine: Bool {
    guard let first = pool.line.first else { return false }
    return !lookups.isEmpty && !first.wasReady && pipeline.reuse == .verdicts
  }

  func question(_ serial: UInt64) -> (serial: UInt64, question: ContentQuestion)? {
    guard let flight = flights[serial], let sha256 = flight.run.sha256.flatMap({ Hexadecimal.bytes($0) }),
      let claims = claims(of: flight)
    else { return nil }
    let line = flight.run.isAtStart ? pool.line.first?.line : nil
    return (serial, ContentQuestion(sha256: sha256, size: flight.size, line: line, claims: claims))
  }

  private func claims(of flight: Flight) -> ContentQuestion.Claims? {
    flight.attachment.map { .init(declaredType: $0.declaredType, fileName: $0.fileName) }
  }

  func learn(_ flight: Flight, _ question: ContentQuestion, _ known: KnownContent) {
    flight.twin = known.url
    flight.isTwinKnown = true
    if let said = known.said, let line = question.line { repeatWords(said, of: line, for: flight) }
    route(flight)
  }

  /// Lets what the first stages said of equal content stand in for running them. Only what they declare is theirs: later ones
  /// run, and speak for themselves.
  private func repeatWords(_ said: KnownContent.Said, of line: String, for flight: Flight) {
    guard let group = pool.line.first, group.line == line, case .line(let range) = group.purpose,
      flight.run.repeatReport(mediaType: said.mediaType, metadata: said.metadata, of: range)
    else { return }
    flight.line = line
  }
}
