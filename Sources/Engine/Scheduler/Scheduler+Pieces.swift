import Ledger
import Objects
import Pipeline
import Platform
import Wire

// What stages leave beside a content: taken over from the worker, and staged once the attachment is to be completed.
extension Scheduler {
  /// Takes over what a report says of pieces. Returns what is wrong with it; `nil`: nothing.
  func takePieces(of report: inout StageReport, _ flight: Flight, _ group: WorkerGroup) -> String? {
    guard let list = report.pieceList else { return nil }
    report.pieceList = nil
    guard flight.piecesOutput >= 0 else {
      return "it says it wrote something beside the content, and had nowhere to"
    }
    do {
      let number = try flight.takePieces()
      let pieces = try PieceList.read(flight.pieceFiles[number].descriptor, at: list)
      for piece in pieces {
        let isDeclared =
          group.stages.indices.contains(piece.stage)
          && (piece.kind == .derived
            ? group.stages[piece.stage].description.derives : group.stages[piece.stage].description.expands)
        if !isDeclared { return "something beside the content from a stage that does not declare it" }
      }
      (report.pieces, report.pieceFile) = (pieces, number)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Has the objects beside an attachment staged. True: they are, or there are none.
  func keepPieces(of flight: Flight) -> Bool {
    if flight.derived != nil { return true }
    let held = flight.run.pieces.filter { $0.piece.kind == .derived }
    if held.isEmpty {
      flight.derived = flight.run.knownDerived.sorted { $0.name < $1.name }
      return true
    }
    guard let attachment = flight.attachment else { return true }
    let id = attachment.origin.id
    let objects = held.map { one in
      NewObject(
        StagedName(attachmentId: id, flight.lease.token, derived: one.piece.name),
        in: flight.pieceFiles[one.file],
        one.piece.range)
    }
    flight.stagedDerived = objects.map(\.name)
    staging.add(Staging.Request(serial: flight.serial, objects: objects))
    return false
  }

  /// Takes what became of objects that were to be staged.
  func takeStaged(_ results: [Result<[[UInt8]], SystemError>]) {
    for (request, result) in zip(staging.answered(), results) {
      guard let flight = flights[request.serial], !flight.isSettled else {
        // A person has deleted it meanwhile, or wants it again.
        for object in request.objects { publishing.discard(object.name) }
        continue
      }
      switch result {
      case .success(let hashes): take(hashes, of: flight)
      case .failure(let error):
        flight.stagedDerived = []
        pauseLane(
          of: flight, Reason(stage: "store", code: "store-failed", message: "\(error); nothing is lost"))
      }
    }
  }

  private func take(_ hashes: [[UInt8]], of flight: Flight) {
    let held = flight.run.pieces.filter { $0.piece.kind == .derived }
    let staged = zip(held, hashes).map { held, sha256 in
      let mediaType = held.piece.mediaType ?? "application/octet-stream"
      return DerivedObject(
        name: held.piece.name, stage: held.stage, mediaType: mediaType,
        sizeBytes: Int64(held.piece.range.count),
        sha256: sha256, url: DerivedObject.url(sha256: Hexadecimal.text(sha256), mediaType: mediaType))
    }
    flight.derived = (flight.run.knownDerived + staged).sorted { $0.name < $1.name }
    route(flight)
  }

  /// Takes away what an attempt has staged that is not recorded.
  func discardStaged(_ flight: Flight) {
    if let name = flight.stagedName { publishing.discard(name) }
    for name in flight.stagedDerived { publishing.discard(name) }
    flight.stagedDerived = []
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
}

/// Objects on their way into the store's incoming folder. They are written and synced by a thread of its own, a batch at a time.
struct Staging {
  struct Request {
    /// Of the flight.
    var serial: UInt64
    var objects: [NewObject]
  }

  private var next: [Request] = []
  private var underway: [Request] = []

  mutating func add(_ request: Request) { next.append(request) }

  /// The next batch, unless one is under way, or there is none: the objects of each flight.
  mutating func nextBatch() -> [[NewObject]]? {
    if next.isEmpty || !underway.isEmpty { return nil }
    (underway, next) = (next, [])
    return underway.map(\.objects)
  }

  /// What the batch was that has been answered.
  mutating func answered() -> [Request] {
    defer { underway = [] }
    return underway
  }
}
