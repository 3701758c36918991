import CPlatform
import FrontWire
import Glibc
import LedgerPort
import Pipeline
import Platform

// Uploads that are made of others (tus 1.0.0, concatenation).
extension API {
  /// Makes an upload of others, in their order. Parts are used once: of several requests for the same ones the first has them.
  func join(
    _ parts: [String], _ request: FrontRequest, _ metadata: String, _ token: AccessToken
  ) throws -> Answer {
    let limit = rules.longest(try item(metadata, token.name, token.role))
    var records: [(record: UploadRecord, file: SharedDescriptor)] = []
    var length: Int64 = 0
    for id in parts {
      let record = try record(id, token)
      let file = try open(id, isAlone: false)
      let size = try uploads.size(file.number).size
      guard record.concat == "partial", size == record.length, !uploads.isDoubted(id) else {
        throw Problem(400, "invalid-concat", "'\(id)' is no part, or is not whole")
      }
      length += size
      records.append((record, SharedDescriptor(file)))
    }
    if length > limit { throw Self.tooLarge(limit) }
    let new = try begin(
      length, metadata, request.field("upload-concat"), token, replacing: Set(parts).count)
    do {
      try copy(records, to: try open(new.id))
    } catch {
      // It has no row yet by which somebody could find it.
      uploads.delete(new.id)
      throw error
    }
    let (end, uploads) = (length, uploads)
    // The parts have done what they were for, and count no more for their owner.
    let used = Set(parts).sorted().map { Command.upload(.end(id: $0)) }
    return makeRow(new, replacing: used.count) {
      .commands(used) { results in
        // Another request has used one meanwhile, or given it up.
        if results.contains(where: { $0 != .done(hasChanged: true) }) {
          return uploads.end(new.id, Problem.notFound)
        }
        for id in parts { uploads.delete(id) }
        return .upload(new.id, .append(Bytes(offset: end, isNew: true)))
      }
    }
  }

  private func copy(
    _ parts: [(record: UploadRecord, file: SharedDescriptor)], to target: borrowing Descriptor
  ) throws {
    var place: Int64 = 0
    for (record, file) in parts {
      let size = record.length ?? 0
      if sluice_copy_to(file.number, size, target.number, place) != 0 { throw Self.full }
      place += size
    }
    if fdatasync(target.number) != 0 { throw Problem.away }
  }
}
