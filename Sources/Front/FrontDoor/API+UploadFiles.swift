import FrontWire
import Glibc
import LedgerPort
import Platform

// The files of uploads, and what their faults mean to clients.
extension API {
  /// The size of an upload of which bytes were stored: that of its file. The process that wrote them is not trusted with it.
  func written(_ id: String, _ offset: Int64, _ stored: Stored) throws -> Int64 {
    let (size, isOver) = offset.addingReportingOverflow(stored.bytes)
    guard !isOver, uploads.size(id) ?? 0 == size else {
      // It was given up by another than a request, such as for its age.
      if try ledger.upload(id) == nil { throw Problem.notFound }
      throw Problem(500, "fault", "the bytes were not written as was said", remedy: "ask how much is there")
    }
    return size
  }

  /// Opens the file of an upload; one that is lost is made anew, and begins at 0. To be called outside a snapshot of the ledger.
  func open(_ id: String, isAlone: Bool = true) throws -> Descriptor {
    if let file = try opened(id, isAlone) { return file }
    // It goes after its row does: where there is a row, it is lost.
    guard isAlone, let record = try ledger.upload(id), record.attachmentId == nil else {
      throw Problem.notFound
    }
    try reached { () throws(SystemError) in try uploads.make(id, length: nil) }
    // Where the row went meanwhile, its file was looked for before it was made.
    guard try ledger.upload(id) != nil, let file = try opened(id, isAlone) else {
      uploads.delete(id)
      throw Problem.notFound
    }
    return file
  }

  private func opened(_ id: String, _ isAlone: Bool) throws -> Descriptor? {
    do throws(SystemError) {
      return try uploads.open(id, isAlone: isAlone)
    } catch {
      throw error.code == ENOSPC || error.code == EDQUOT ? Self.full : Problem.away
    }
  }

  func cut(_ id: String, to size: Int64) throws {
    try reached { () throws(SystemError) in try uploads.cut(id, to: size) }
  }

  func doubt(_ id: String, from offset: Int64) throws {
    try reached { () throws(SystemError) in try uploads.doubt(id, from: offset) }
  }

  func trust(_ id: String) throws {
    try reached { () throws(SystemError) in try uploads.trust(id) }
  }

  func reached<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(Problem) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      throw error.code == ENOSPC || error.code == EDQUOT ? Self.full : Problem.away
    }
  }
}
