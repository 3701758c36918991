import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform

/// Compares a home's ledger with itself and with the store, whether or not a coordinator is running.
///
/// Changes by a coordinator meanwhile are no damage: every suspected defect is checked again before it is
/// reported. The rows are read in pages and the store is walked, so that memory use does not grow with the
/// number of attachments.
public final class Verification {
  /// The numbers of checked objects.
  public struct Totals: Sendable {
    public var objects: Int64 = 0
    /// Of these, how many were read completely.
    public var read: Int64 = 0
    public var bytes: Int64 = 0
    public var findings: Int64 = 0
    public var repaired: Int64 = 0
    /// Put back into the queue.
    public var queued: Int64 = 0

    public init() {}
  }

  public enum Event {
    case found(Finding)
    /// An object was checked, of this size in bytes.
    case looked(Int64)
  }

  public private(set) var totals = Totals()
  let home: Home
  let ledger: any LedgerMaintenance
  let root: Int32
  let reader: ObjectReader
  let objectStore: FileStore
  /// `nil`: defects are only reported.
  let repair: Repair?
  private let sample: Int64?
  private let observe: (Event) -> Void

  /// - Parameters:
  ///   - ledger: opened for reading, or for writing if `repairs`; then the caller holds the home's lock.
  ///   - sample: read the content of this many objects, chosen at random; `nil`: of all.
  public init(
    _ home: Home, _ ledger: any LedgerMaintenance, repairs: Bool, sample: Int64?,
    observe: @escaping (Event) -> Void
  ) throws {
    self.home = home
    self.ledger = ledger
    self.sample = sample
    self.observe = observe
    root = try Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY).release()
    objectStore = FileStore(root: root, home.storePath)
    reader = try ObjectReader(objectStore)
    if repairs { try objectStore.check(ledger) }
    repair = repairs ? try Repair(home, ledger, store: root, reader, objectStore) : nil
  }

  deinit {
    close(root)
  }

  /// Checks everything, rows first: an object gets its path only after its row is on record.
  public func run() throws -> Totals {
    try checkRows()
    try checkObjects()
    try checkIncoming()
    try checkStore()
    try checkUploads()
    return totals
  }

  func tell(_ finding: Finding) {
    totals.findings += 1
    if finding.repair != nil { totals.repaired += 1 }
    observe(.found(finding))
  }

  private func checkRows() throws {
    var counts: [Finding] = []
    var jobs: [Finding] = []
    var documents: [Finding] = []
    try ledger.inspectRows { finding in
      switch finding.code {
      case "counts-differ" where repair != nil, "names-differ" where repair != nil: counts.append(finding)
      case "job-missing" where repair != nil, "job-of-ended" where repair != nil: jobs.append(finding)
      case "search-differs" where repair != nil: documents.append(finding)
      default: tell(finding)
      }
    }
    if !counts.isEmpty { try ledger.recount() }
    if !jobs.isEmpty { try ledger.mendJobs() }
    if !documents.isEmpty { try ledger.mendSearch() }
    for var finding in documents {
      finding.repair = "recorded anew for searches"
      tell(finding)
    }
    for var finding in counts {
      finding.repair = "counted anew"
      tell(finding)
    }
    for var finding in jobs {
      finding.repair = finding.code == "job-missing" ? "given a job" : "the job was taken away"
      tell(finding)
    }
  }

  // MARK: Rows and their objects

  private func checkObjects() throws {
    var left = Double(try ledger.status().attachments.first { $0.status == .completed }?.count ?? 0)
    var wanted = Double(sample ?? .max)
    var mark: PageMark?
    repeat {
      let page = try ledger.derivedObjects(after: mark, limit: 500)
      for object in page.rows { try check(object, reads: sample == nil) }
      mark = page.next
    } while mark != nil
    repeat {
      let page = try ledger.objects(after: mark, limit: 500)
      for object in page.rows {
        // Each of the remaining objects is equally likely (Knuth, volume 2, 3.4.2, algorithm S).
        let reads = sample == nil || Double.random(in: 0..<1) * max(left, 1) < wanted
        if reads { wanted -= 1 }
        left -= 1
        try check(object, reads: reads)
      }
      mark = page.next
    } while mark != nil
  }

  private func check(_ object: StoredObject, reads: Bool) throws {
    totals.objects += 1
    defer { observe(.looked(max(object.sizeBytes, 0))) }
    guard let fault = fault(of: object, reads: reads) else {
      if reads {
        totals.read += 1
        totals.bytes = .saturatingSum(totals.bytes, max(object.sizeBytes, 0))
      }
      return
    }
    // Check again with the current row: the object may have been on its way.
    guard let again = try current(object) else { return }
    let isAbsent = fault.code == "object-missing" || fault.code == "object-unnamed"
    if isAbsent && isOnItsWay(again) { return }
    guard var finding = self.fault(of: again, reads: reads) else { return }
    if let repair {
      let queued = try repair.object(again, &finding)
      if queued { totals.queued += 1 }
    }
    tell(finding)
  }

  /// The same as the ledger has it now.
  private func current(_ object: StoredObject) throws -> StoredObject? {
    guard let derived = object.derived else { return try ledger.object(ofAttachment: object.id) }
    return try ledger.object(derived, besideAttachment: object.id)
  }

  /// Whether a coordinator is about to publish it.
  private func isOnItsWay(_ object: StoredObject) -> Bool {
    for _ in 0..<40 {
      if objectStore.staged(for: object.id, derived: object.derived).isEmpty {
        return objectStore.exists(object.url)
      }
      guard repair == nil, home.isInUse else { return false }
      usleep(50_000)
    }
    return true  // the running coordinator publishes it or reports why not
  }

  /// The defect of an object; `nil`: none.
  private func fault(of object: StoredObject, reads: Bool) -> Finding? {
    let place = "store/\(object.url)"
    func fault(_ code: String, _ what: String, _ remedy: String = Remedy.object) -> Finding {
      let owner = object.derived.map { "\($0) of attachment" } ?? "attachment"
      return Finding(code, place, "\(what) (\(owner) \(object.id))", remedy: remedy)
    }
    guard PathTemplate.isPath(object.url) else {
      return Finding(
        "row-malformed", "attachment \(object.id)", "its url '\(object.url)' is no path below the store",
        remedy: Remedy.object)
    }
    switch reader.look(object.url, expected: object.isKept ? nil : object.sizeBytes, reads: reads) {
    case .nothing:
      let staged = objectStore.staged(for: object.id, derived: object.derived)
      if staged.isEmpty { return fault("object-missing", "there is no object") }
      if reads {
        do throws(SystemError) {
          // Under one name at least is what is recorded.
          var isThere = false
          for name in staged where try objectStore.digest(ofStaged: name) == object.sha256 { isThere = true }
          if !isThere {
            return fault(
              "object-damaged",
              "it waits in the store's .incoming, and its SHA-256 is not the recorded \(Hexadecimal.text(object.sha256))"
            )
          }
        } catch {
          return fault(
            "object-unreadable", "it waits in the store's .incoming, and cannot be read: \(error)",
            Remedy.disk)
        }
      }
      return fault("object-unnamed", "its object waits in the store's .incoming", Remedy.next)
    case .strange(let what): return fault("object-strange", what)
    case .unreadable(let why): return fault("object-unreadable", "it cannot be read: \(why)", Remedy.disk)
    case .file(let size, _) where size != object.sizeBytes && !object.isKept:
      return fault(
        "object-damaged", "it has \(Count.text(size, "byte")), and \(object.sizeBytes) are recorded")
    case .file(_, let sha256) where reads && sha256 != object.sha256:
      return fault(
        "object-damaged",
        "its SHA-256 is \(Hexadecimal.text(sha256)), and \(Hexadecimal.text(object.sha256)) is recorded")
    case .file: return nil
    }
  }

  // MARK: Files without an owner

  private func checkIncoming() throws {
    // While a coordinator is running, staged objects belong to it.
    if repair == nil && home.isInUse { return }
    for name in try objectStore.staged() {
      let owner =
        if let derived = name.derived { try ledger.object(derived, besideAttachment: name.attachmentId) } else
        {
          try ledger.object(ofAttachment: name.attachmentId)
        }
      // Already reported with its row.
      if let owner, !objectStore.exists(owner.url) { continue }
      if repair == nil && (home.isInUse || !objectStore.isStaged(name)) { continue }
      let place = "store/\(FileStore.incoming)/\(name)"
      let what =
        owner == nil ? "no attachment that is completed has this object" : "its object has its path already"
      var finding = Finding("leftover", place, what, remedy: Remedy.leftover)
      if repair != nil,
        try ledger.tombstones(idPrefix: name.attachmentId).contains(where: { $0.id == name.attachmentId })
      {
        // A person has deleted it: it is not to be kept.
        objectStore.discard(name)
        finding.repair = "deleted, as its attachment was"
      } else {
        try repair?.moveAside(Array("\(FileStore.incoming)/\(name)".utf8), &finding)
      }
      tell(finding)
    }
  }

  private func checkStore() throws {
    let listing = objectStore.list(after: nil)
    while case let page = try listing.next(1000), !page.isEmpty {
      for object in page { try checkOwner(of: object.path, isFile: object.isFile) }
    }
  }

  private func checkOwner(of bytes: [UInt8], isFile: Bool) throws {
    let path = String(decoding: bytes, as: UTF8.self)
    if path.utf8.elementsEqual(bytes), try ledger.hasName(path) { return }
    if isFile {
      guard case .file(_, let sha256) = reader.look(path) else { return }
      // Published since the rows were read.
      if try ledger.hasObject(at: path, sha256: sha256) { return }
    }
    var finding = Finding(
      isFile ? "orphan" : "strange-file", "store/\(path)",
      isFile ? "no attachment has this object" : "it is a symbolic link, a device, a socket or a pipe",
      remedy: Remedy.orphan)
    try repair?.moveAside(bytes, &finding)
    tell(finding)
  }

  private func checkUploads() throws {
    // While a coordinator is running, files are made before their rows, and deleted after them.
    if repair == nil && home.isInUse { return }
    let files = UploadFiles(home)
    for id in try files.unneeded(ledger, before: .max) {
      if repair == nil && home.isInUse { return }
      var finding = Finding(
        "leftover", "\(Home.uploads)/\(id)", "no upload needs this file any more", remedy: Remedy.upload)
      if repair != nil {
        files.delete(id)
        finding.repair = "deleted"
      }
      tell(finding)
    }
    var mark: PageMark?
    repeat {
      let page = try ledger.uploads(after: mark, limit: 500)
      for upload in page.rows { try check(upload, files) }
      mark = page.next
    } while mark != nil
  }

  /// What an attachment that is queued is to be read from, or one that has failed without it could be.
  private func check(_ upload: UploadRecord, _ files: UploadFiles) throws {
    guard let id = upload.attachmentId, !files.isThere(upload.id),
      let attachment = try ledger.attachments(idPrefix: id).first, attachment.keptObject == nil
    else { return }
    let isChild = attachment.origin.parentId != nil
    switch attachment.outcome.status {
    case .queued: break
    case .failed where isChild && attachment.outcome.reason?.stage == "source": break
    default: return
    }
    if repair == nil && home.isInUse { return }
    var finding = Finding(
      "upload-missing", "\(Home.uploads)/\(upload.id)",
      "attachment \(id) is to be read from it, and it is gone",
      remedy: isChild ? Remedy.child : Remedy.lostUpload)
    if let repair, isChild, try repair.takeOutAgain(id, &finding) { totals.queued += 1 }
    tell(finding)
  }

  enum Remedy {
    static let child = "`sluice verify --repair` takes it out of what it was in again"
    static let lostUpload = "have it sent again; `sluice delete ID` removes the attachment"
    static let upload = "the next `sluice ingest`, `run` or `serve` deletes it, or `sluice verify --repair`"
    static let object =
      "`sluice verify --repair` finds its content elsewhere in the store, or queues the attachment again if its source is unchanged; else restore the object, or delete the attachment"
    static let next = "the next `sluice ingest` names it, or `sluice verify --repair`"
    static let disk = "look after the disk; then `sluice verify` again"
    static let leftover =
      "the next `sluice ingest` takes it away; `sluice verify --repair` moves it to lost+found"
    static let orphan = "`sluice verify --repair` moves it to lost+found; nothing is deleted"
  }
}
