import Glibc
import HomeFolder
import LedgerPort
import Platform

/// The files of uploads that are not needed any more. A coordinator deletes the file of an upload as soon as its attachment is
/// completed or its row is gone; one that is killed before that leaves the file.
public struct UploadFiles {
  private let path: String

  public init(_ home: Home) { path = home.uploadsPath }

  /// The ids of uploads whose files are not needed, in order.
  ///
  /// - Parameter time: in milliseconds since 1970. Files that were changed since then are left out: the row of one may be on its way.
  public func unneeded(_ ledger: any LedgerQueries, before time: Int64) throws(LedgerError) -> [String] {
    var unneeded: [String] = []
    for id in ids(before: time) where try !isNeeded(id, ledger) { unneeded.append(id) }
    return unneeded
  }

  /// An attachment that is not completed may be tried again, from this file.
  private func isNeeded(_ id: String, _ ledger: any LedgerQueries) throws(LedgerError) -> Bool {
    guard let record = try ledger.upload(id) else { return false }
    guard let attachment = record.attachmentId else { return true }
    return try ledger.attachments(idPrefix: attachment).first?.outcome.status != .completed
  }

  private func ids(before time: Int64) -> [String] {
    guard let listing = opendir(path) else { return [] }
    defer { closedir(listing) }
    var ids: Set<String> = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      let ending = UploadRecord.doubtEnding
      let id = name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : name
      var facts = stat()
      guard UploadRecord.isId(id.utf8), lstat("\(path)/\(name)", &facts) == 0,
        Int64(facts.st_mtim.tv_sec) * 1000 < time
      else { continue }
      ids.insert(id)
    }
    return ids.sorted()
  }

  /// Whether the file of an upload is there.
  func isThere(_ id: String) -> Bool {
    var facts = stat()
    return lstat("\(path)/\(id)", &facts) == 0
  }

  /// Deletes the files of an upload.
  public func delete(_ id: String) {
    unlink("\(path)/\(id)")
    unlink("\(path)/\(id)\(UploadRecord.doubtEnding)")
  }

  /// Deletes all that are not needed. For a coordinator that begins: no request is under way yet.
  public func sweep(_ ledger: any LedgerQueries) throws(LedgerError) {
    for id in try unneeded(ledger, before: .max) { delete(id) }
  }
}
