import LedgerPort
import Objects
import Pipeline
import Platform
import Wire

// What stages leave beside a content: taken over from the worker, and written to files once the attachment is to be completed.
extension AttachmentLine {
  /// Has what stages left beside the content written to files. True: it is, or there is nothing.
  func keepPieces(of flight: Flight) -> Bool {
    if flight.derived != nil { return true }
    guard let attachment = flight.attachment, !flight.run.pieces.isEmpty else {
      flight.derived = flight.run.knownDerived.sorted { $0.name < $1.name }
      return true
    }
    var request = Staging.Request(serial: flight.serial)
    for held in flight.run.pieces {
      let part = FilePart(flight.pieceFiles[held.file], held.piece.range)
      switch held.piece.kind {
      case .derived:
        let name = StagedName(
          attachmentId: attachment.origin.id, flight.lease.token, derived: held.piece.name)
        request.set.objects.append(NewObject(name, part))
      case .child: request.set.children.append(part)
      }
    }
    flight.stagedDerived = request.set.objects.map(\.name)
    staging.add(request)
    return false
  }

  /// Takes what became of pieces that were to be written.
  func takeStaged(_ results: [Result<StagedPieces, SystemError>]) {
    for (request, result) in zip(staging.answered(), results) {
      guard let flight = loop.flights[request.serial], !flight.isSettled else {
        // A person has deleted it meanwhile, or wants it again.
        for object in request.set.objects { publishing.discard(object.name) }
        if case .success(let staged) = result { loop.dropFiles(staged.children.map(\.path)) }
        continue
      }
      switch result {
      case .success(let staged):
        take(staged, of: flight)
        route(flight)
      case .failure(let error):
        flight.stagedDerived = []
        let message = "\(error); nothing is lost"
        loop.pauseLane(of: flight, Reason(stage: "store", code: "store-failed", message: message))
      }
    }
  }

  private func take(_ staged: StagedPieces, of flight: Flight) {
    let held = flight.run.pieces
    let derived = zip(held.filter { $0.piece.kind == .derived }, staged.hashes).map { held, sha256 in
      let mediaType = held.piece.derivedType
      return DerivedObject(
        name: held.piece.name, stage: held.stage, mediaType: mediaType,
        sizeBytes: Int64(held.piece.range.count), sha256: sha256,
        url: DerivedObject.url(sha256: Hexadecimal.text(sha256), mediaType: mediaType))
    }
    flight.derived = (flight.run.knownDerived + derived).sorted { $0.name < $1.name }
    if pipeline.serve.messages { flight.texts = texts(among: held, staged.hashes, flight) }
    flight.children = zip(held.filter { $0.piece.kind == .child }, staged.children).map { held, file in
      NewChild(
        uploadId: file.id, source: Array(file.path.utf8), sizeBytes: Int64(held.piece.range.count),
        sha256: file.sha256, modified: file.modified, fileName: held.piece.childName,
        declaredType: held.piece.mediaType)
    }
  }

  /// The texts for searches, without unreadable ones.
  private func texts(among held: [HeldPiece], _ hashes: [[UInt8]], _ flight: Flight) -> [ContentText] {
    zip(held.filter { $0.piece.kind == .derived }, hashes).compactMap { held, sha256 in
      guard ContentText.isOne(name: held.piece.name, mediaType: held.piece.derivedType) else { return nil }
      let range = held.piece.range
      let end = min(range.upperBound, range.lowerBound + Int64(ContentText.longest))
      var bytes: [UInt8] = []
      let part = FilePart(flight.pieceFiles[held.file], range.lowerBound..<end)
      do throws(SystemError) {
        try part.each { bytes.append(contentsOf: $0) }
      } catch {
        return nil
      }
      // The last character may be cut.
      if end < range.upperBound { bytes.removeLast(bytes.reversed().prefix { $0 & 0xC0 == 0x80 }.count + 1) }
      return ContentText(sha256: sha256, bytes)
    }
  }

  /// Takes away what an attempt has written that is not recorded.
  func discardStaged(_ flight: Flight) {
    if let name = flight.stagedName { publishing.discard(name) }
    for name in flight.stagedDerived { publishing.discard(name) }
    dropAdopted(flight)
    loop.dropFiles(flight.children.map { String(decoding: $0.source, as: UTF8.self) })
    (flight.stagedDerived, flight.texts) = ([], [])
    flight.children = []
  }

  /// The object has a link of its own, or there is none.
  func dropAdopted(_ flight: Flight) {
    guard let name = flight.adopted else { return }
    publishing.discard(name)
    (flight.adopted, flight.twin) = (nil, nil)
  }

  /// The objects that an attachment which is on record is to get paths for.
  func stagedObjects(of flight: Flight, _ ended: EndedAttachment) -> [StagedObject] {
    var objects = flight.stagedDerived.compactMap { name in
      ended.outcome.derived.first { $0.name == name.derived }.map { StagedObject(name, path: $0.url) }
    }
    if flight.isStoreTouched, let name = flight.stagedName, let path = ended.outcome.url {
      objects.append(StagedObject(name, path: path))
    }
    return objects
  }

  // MARK: What was taken out of a content

  /// Records it, and lets the attachment wait for it.
  func expand(_ flight: Flight) {
    guard let attachment = flight.attachment, keepPieces(of: flight) else { return }
    loop.settle(flight, .expanded(ended(flight, attachment, outcome(of: flight), [])))
  }

  /// It is more than is allowed: the attachment is rejected.
  func refuseChildren(of flight: Flight, _ code: String, _ message: String) {
    discardStaged(flight)
    if let path = flight.run.location { publishing.release(path) }
    flight.isSettled = false
    flight.run.refuseChildren(code, message)
    route(flight)
  }

  /// All of it has ended: the stages at the end are told.
  func conclude(_ flight: Flight, _ before: ConcludedExpansion) {
    flight.run = AttachmentRun(plan, attempt: flight.lease.counted, concluding: before)
    flight.derived = before.derived
    route(flight)
  }
}

extension Flight {
  /// Takes over what a report says of pieces. Returns what is wrong with it; `nil`: nothing.
  func takePieces(of report: inout StageReport, _ group: WorkerGroup) -> String? {
    guard let list = report.pieceList else { return nil }
    report.pieceList = nil
    guard piecesOutput >= 0 else {
      return "it says it wrote something beside the content, and had nowhere to"
    }
    do {
      let number = try takePieces()
      let pieces = try PieceList.read(pieceFiles[number].descriptor, at: list)
      if pieces.contains(where: { !group.declares($0) }) {
        return "something beside the content from a stage that does not declare it"
      }
      (report.pieces, report.pieceFile) = (pieces, number)
      return nil
    } catch {
      return "\(error)"
    }
  }
}

extension WorkerGroup {
  /// Whether the stage of a piece says that it leaves such.
  fileprivate func declares(_ piece: Piece) -> Bool {
    guard stages.indices.contains(piece.stage) else { return false }
    let stage = stages[piece.stage].description
    return piece.kind == .derived ? stage.derives : stage.expands
  }
}

/// Pieces on their way into files. They are written and synced by a thread of its own, a batch at a time.
struct Staging {
  struct Request {
    /// Of the flight.
    var serial: UInt64
    var set = NewPieces()
  }

  private var next: [Request] = []
  private var underway: [Request] = []

  mutating func add(_ request: Request) { next.append(request) }

  /// The next batch, unless one is under way, or there is none: the pieces of each flight.
  mutating func nextBatch() -> [NewPieces]? {
    if next.isEmpty || !underway.isEmpty { return nil }
    (underway, next) = (next, [])
    return underway.map(\.set)
  }

  /// What the batch was that has been answered.
  mutating func answered() -> [Request] {
    defer { underway = [] }
    return underway
  }
}
