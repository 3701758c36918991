import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform

/// Repairs what a verification finds, without deleting anything. The caller holds the home's lock. It may be
/// interrupted after any step; the next verification continues from there.
final class Repair {
  private let ledger: any LedgerMaintenance
  private let reader: ObjectReader
  private let objectStore: FileStore
  private let home: Int32
  private let store: Int32
  private let lost: LostAndFound
  private let orphans: Orphans
  /// Attachments whose content nothing can bring back: nothing can be taken out of them.
  private var hopeless: Set<String> = []

  init(
    _ home: Home, _ ledger: any LedgerMaintenance, store: Int32, _ reader: ObjectReader,
    _ objectStore: FileStore
  ) throws(SystemError) {
    self.ledger = ledger
    self.reader = reader
    self.objectStore = objectStore
    self.store = store
    self.home = try Descriptor.open(home.path, O_RDONLY | O_DIRECTORY).release()
    lost = LostAndFound(home: self.home, store: store)
    orphans = Orphans(objectStore, reader, ledger)
  }

  deinit {
    close(home)
  }

  /// Restores an attachment's object: publishes the staged one, or takes one with its content that has no row, or else queues the
  /// attachment again. True: it is queued.
  func object(_ object: StoredObject, _ finding: inout Finding) throws -> Bool {
    if finding.code == "object-unreadable" { return false }
    let isLocation = PathTemplate.isPath(object.url)
    let staged = objectStore.staged(for: object.id, derived: object.derived).first {
      holds("\(FileStore.incoming)/\($0.text)", object)
    }
    if isLocation, let staged {
      guard clear(object.url, &finding) else { return false }
      do throws(SystemError) {
        try objectStore.publish(StagedObject(staged, path: object.url))
        finding.repair = "the object in .incoming is the right one, and has its path now"
      } catch {
        finding.remedy = "\(error); make that possible, then repair again"
      }
      return false
    }
    if finding.code == "object-missing", try isFoundElsewhere(object, &finding) {
      return try triesAgain(object, &finding)
    }
    if let derived = object.derived {
      guard !isLocation || clear(object.url, &finding) else { return false }
      try ledger.requeue(object)
      finding.repair = "queued again; the next `sluice ingest` makes its \(derived) anew"
      return true
    }
    // What a link had is fetched again, where it is in no other place.
    if object.isFromLink && !object.isKept {
      guard !isLocation || clear(object.url, &finding) else { return false }
      try ledger.requeue(object)
      finding.repair = "queued again; the next `sluice ingest` fetches and stores it"
      return true
    }
    guard let source = reader.digest(ofSource: object.source) else {
      // It cannot be read from its source, and what lies at its path is of no use.
      if isLocation, finding.code != "object-missing", try isFoundElsewhere(object, &finding) {
        return try triesAgain(object, &finding)
      }
      if try takeOutAgain(object.id, &finding) {
        if object.isKept { try ledger.forgetKept(object) }
        if isLocation { _ = clear(object.url, &finding) }
        return true
      }
      if !hopeless.contains(object.id) {
        hopeless.insert(object.id)
        finding.remedy =
          MboxPath(object.source) == nil
          ? "its source \(shown(object)) cannot be read; restore the object or the source, or delete the attachment"
          : "it is not at \(shown(object)) any more; ingest the mailbox again, which finds it if it is in there unchanged, then repair again"
      }
      return false
    }
    guard Hexadecimal.text(source) == object.sourceSHA256 ?? Hexadecimal.text(object.sha256) else {
      hopeless.insert(object.id)
      finding.remedy =
        "its source \(shown(object)) has changed since; restore the object or the source, or delete the attachment"
      return false
    }
    guard !isLocation || clear(object.url, &finding) else { return false }
    if object.isKept {
      try ledger.forgetKept(object)
      finding.repair =
        "nothing is kept any more; its source is unchanged, and is read where it is tried again"
      return try triesAgain(object, &finding)
    }
    try ledger.requeue(object)
    finding.repair = "queued again; the next `sluice ingest` stores it"
    return true
  }

  /// Queues one that has failed for want of what it keeps, once that is repaired. False: it has not.
  private func triesAgain(_ object: StoredObject, _ finding: inout Finding) throws -> Bool {
    guard object.isKept, let repair = finding.repair, try ledger.tryAgain(object) else { return false }
    finding.repair = repair + "; queued again, since it failed for want of it"
    return true
  }

  /// Queues what an attachment was taken out of, so that its content comes out of that again. False: that has it no more, or it was
  /// taken out of nothing.
  func takeOutAgain(_ id: String, _ finding: inout Finding) throws -> Bool {
    let parent = try ledger.attachments(idPrefix: id).first?.origin.parentId
    if let parent, hopeless.contains(parent) {
      hopeless.insert(id)
      finding.remedy =
        "attachment \(parent), which it was taken out of, is lost as well; restore that, then repair again"
      return false
    }
    guard try ledger.requeueWithParent(id) else { return false }
    finding.repair =
      "what it was taken out of is queued again; the next `sluice ingest` takes it out, if it is still in there, and until then it has failed"
    return true
  }

  /// Gives an object its path again from another place of the store: a file with its content that has no row, or else the object of
  /// another attachment, with which it shares the file. False: there is none.
  private func isFoundElsewhere(_ object: StoredObject, _ finding: inout Finding) throws -> Bool {
    let orphan = try orphans.take(object.sha256)
    let twin = try orphan == nil ? twin(of: object) : nil
    guard let place = orphan ?? twin else { return false }
    guard clear(object.url, &finding) else { return true }
    do throws(SystemError) {
      if twin == nil {
        try objectStore.move(place, to: object.url)
        finding.repair = "store/\(place) has its content and was nobody's: it has its path now"
      } else {
        try objectStore.link(place, to: object.url)
        finding.repair = "store/\(place) has its content: it is the object of both now"
      }
    } catch {
      finding.remedy = "\(error); make that possible, then repair again"
    }
    return true
  }

  /// The path of another attachment's object with the same content; `nil`: there is none.
  private func twin(of object: StoredObject) throws -> String? {
    for path in try ledger.paths(ofContent: object.sha256) where !path.utf8.elementsEqual(object.url.utf8) {
      if case .file(_, let sha256) = reader.look(path), sha256 == object.sha256 { return path }
    }
    return nil
  }

  /// Moves a file to lost+found.
  func moveAside(_ path: [UInt8], _ finding: inout Finding) throws {
    do throws(SystemError) {
      finding.repair = "moved to \(try lost.take(path))"
    } catch {
      finding.remedy = "\(error); make that possible, then repair again"
    }
  }

  /// Makes room at a path. If one of its parents is something else, such as a symbolic link, that is moved;
  /// nothing behind it is touched. False: it cannot be moved.
  private func clear(_ path: String, _ finding: inout Finding) -> Bool {
    let bytes = Array(path.utf8)
    for end in bytes.indices.filter({ bytes[$0] == 0x2F }) + [bytes.count] {
      let part = Array(bytes[..<end])
      var facts = stat()
      guard part.withPath({ fstatat(store, $0, &facts, AT_SYMLINK_NOFOLLOW) }) == 0 else {
        return true
      }
      if end < bytes.count && sluice_file_type(facts.st_mode) == S_IFDIR { continue }
      do throws(SystemError) {
        _ = try lost.take(part)
        return true
      } catch {
        finding.remedy = "\(error); make that possible, then repair again"
        return false
      }
    }
    return true
  }

  private func holds(_ path: String, _ object: StoredObject) -> Bool {
    object.isKept
      ? false
      : reader.look(path, expected: object.sizeBytes) == .file(size: object.sizeBytes, sha256: object.sha256)
  }

  private func shown(_ object: StoredObject) -> String { String(decoding: object.source, as: UTF8.self) }
}
