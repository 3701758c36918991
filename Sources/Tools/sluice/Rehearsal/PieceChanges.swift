import LedgerPort
import Pipeline
import Platform
import Workbench

/// What a pipeline would leave beside the content of an attachment, and take out of it, compared with what is on record.
struct PieceChanges {
  private let ledger: any LedgerQueries
  /// The stages that do not run again: what they have left stays.
  private let earlier: [StageDefinition]

  init(_ ledger: any LedgerQueries, earlier: some Sequence<StageDefinition>) {
    self.ledger = ledger
    self.earlier = Array(earlier)
  }

  /// Objects by their names; then children in the order in which they came out, and those that come out no more at the end.
  func changes(_ record: AttachmentRecord, _ result: Rehearsal.Result) throws -> [ReplayReport.Change] {
    // Where it is not completed, what came out of it before stays as it is, and the status says so.
    derived(record, result) + (result.outcome == .completed ? try children(record, result.pieces) : [])
  }

  // MARK: Derived objects

  private func derived(_ record: AttachmentRecord, _ result: Rehearsal.Result) -> [ReplayReport.Change] {
    let before = record.outcome.derived.map {
      ($0, Self.text($0.mediaType, $0.sizeBytes, Hexadecimal.text($0.sha256)))
    }
    var after: [String: String] = [:]
    if result.outcome == .completed {
      for (object, text) in before where earlier.contains(where: { $0.id == object.stage }) {
        after[object.name] = text
      }
    }
    for entry in result.pieces.derived {
      after[entry.piece.name] = Self.text(entry.piece.derivedType, entry.content.size, entry.sha256)
    }
    let old = Dictionary(before.map { ($0.0.name, $0.1) }) { first, _ in first }
    return Set(old.keys).union(after.keys).sorted().compactMap { name in
      if old[name] == after[name] { return nil }
      return ReplayReport.Change(key: "derived/\(name)", before: old[name], after: after[name], isPiece: true)
    }
  }

  // MARK: Children

  /// A change of one child: one that comes out no more and one that is new count as one where they have the same name.
  private func children(_ record: AttachmentRecord, _ pieces: TrialPieces) throws -> [ReplayReport.Change] {
    let found = pieces.children.map { entry in
      NewChild(
        uploadId: "", source: [], sizeBytes: entry.content.size,
        sha256: Hexadecimal.bytes(entry.sha256) ?? [], modified: 0, fileName: entry.piece.childName,
        declaredType: nil)
    }
    let standing = try ledger.standing(of: found, in: record.origin)
    var known: Set<String> = []
    for case .known(let id) in standing { known.insert(id) }
    // What was in a deleted child counts as taken out of its parent; and of more than a trial keeps the rest is not known.
    let isWhole =
      pieces.isWhole && !standing.contains(.deleted) && !earlier.contains(where: \.description.expands)
    var gone: [(name: String, text: String)] = []
    if isWhole {
      try recorded(record) { child in
        let attachment = child.attachment
        if known.contains(attachment.origin.id) { return }
        gone.append((attachment.origin.fileName, Self.text(nil, child.sizeBytes, Self.sha256(attachment))))
      }
    }
    // Their places by name, the first at the end.
    var places: [String: [Int]] = [:]
    for place in gone.indices.reversed() { places[gone[place].name, default: []].append(place) }
    var changes: [ReplayReport.Change] = []
    for (child, standing) in zip(found, standing) where standing == .new {
      let place = places[child.fileName]?.popLast()
      changes.append(
        Self.change(
          child.fileName, place.map { gone[$0].text },
          Self.text(nil, child.sizeBytes, Hexadecimal.text(child.sha256))))
    }
    let left = places.values.flatMap(\.self).sorted()
    return changes + left.map { Self.change(gone[$0].name, gone[$0].text, nil) }
  }

  private func recorded(_ record: AttachmentRecord, _ body: (ChildRecord) -> Void) throws {
    var mark: PageMark?
    repeat {
      let page = try ledger.children(of: record.key, after: mark, limit: 1000)
      page.rows.forEach(body)
      mark = page.next
    } while mark != nil
  }

  /// The SHA-256 of a child as it was taken out; `nil`: it was not read.
  private static func sha256(_ child: AttachmentRecord) -> String? {
    let metadata = (try? MetadataText.data(child.outcome.metadata)) ?? []  // what the ledger wrote is JSON
    return metadata.first { $0.key == "original.sha256" }?.value.text
      ?? child.outcome.sha256.map(Hexadecimal.text)
  }

  private static func change(_ name: String, _ before: String?, _ after: String?) -> ReplayReport.Change {
    ReplayReport.Change(key: "child/\(name)", before: before, after: after, isPiece: true)
  }

  /// What there is to tell of a piece but for its name; the hash at the end.
  private static func text(_ mediaType: String?, _ size: Int64, _ sha256: String?) -> String {
    [mediaType, Count.text(size, "byte"), sha256].compactMap(\.self).joined(separator: ", ")
  }
}
