import Foundation
import Glibc

// Checks objects beside attachments, and contents that were taken out of contents.
extension Check {
  /// Checks the objects beside attachments. Returns their paths.
  func checkDerived(_ ledger: Ledger, _ store: Store) -> (owned: Set<String>, waiting: Set<String>) {
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    var owned: Set<String> = []
    var waiting: Set<String> = []
    for derived in ledger.derived {
      guard let attachment = rows[derived.attachment] else { continue }  // reported by the foreign key check
      owned.insert(derived.url)
      let (place, what) = ("store/" + derived.url, "\(derived.name) of \(attachment.name)")
      if attachment.status != "completed" && !attachment.waits {
        found(.derivedAstray, what, "it is \(attachment.status), and has an object beside it")
      }
      if let object = store.objects[derived.url] {
        if object.size != derived.size || object.sha256 != derived.sha256 {
          found(
            .derivedAltered, place,
            "it has \(object.size) bytes with SHA-256 \(object.sha256), and \(derived.size) with \(derived.sha256) are on record"
          )
        }
        continue
      }
      let name = "\(attachment.id)~\(derived.name)"
      if !options.isDrained, store.incoming[name]?.sha256 == derived.sha256 {
        waiting.insert(name)
      } else {
        found(.derivedMissing, place, "\(what) is to be here, and nothing is")
      }
    }
    return (owned, waiting)
  }

  /// Checks what came out of contents, and what that came out of.
  func checkTrees(_ ledger: Ledger) {
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    var children: [Int64: [Ledger.Attachment]] = [:]
    for attachment in ledger.attachments {
      guard let key = attachment.parent else { continue }
      children[key, default: []].append(attachment)
      guard let parent = rows[key], key != attachment.key else {
        found(.childAstray, attachment.name, "what it came out of is not there")
        continue
      }
      if (parent.conversation, parent.message) != (attachment.conversation, attachment.message) {
        found(
          .childAstray, attachment.name, "it is of another message than \(parent.name), out of which it came")
      }
    }
    for parent in ledger.attachments where parent.hasEnded {
      guard let count = parent.children else { continue }
      let own = children[parent.key] ?? []
      if count != own.count {
        found(.childrenWrong, parent.name, "it says that \(count) came out of it, and \(own.count) are there")
      }
      for child in own where child.finished.map({ $0 > parent.finished ?? 0 }) ?? true {
        found(.parentEarly, parent.name, "it has ended, and \(child.name) had not")
      }
    }
  }

  /// Checks the files that attachments are read from, where clients or stages have brought these.
  func checkContents(_ ledger: Ledger) {
    let folder = options.home + "/uploads"
    var needed: Set<String> = []
    for upload in ledger.uploads {
      needed.insert(upload.id)
      var facts = stat()
      if lstat("\(folder)/\(upload.id)", &facts) != 0 || facts.st_size != upload.length {
        found(
          .contentMissing, "uploads/\(upload.id)",
          "attachment \(upload.attachment) is to be read from it, and it is not there as it came")
      }
    }
    if !options.isDrained { return }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    where !needed.contains(name) {
      found(.contentLeft, "uploads/\(name)", "no attachment is to be read from it")
    }
  }
}
