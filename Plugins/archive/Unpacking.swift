import Glibc
import StageKit

/// The work on one archive.
struct Unpacking {
  struct Policy {
    let maxEntries: Int64
    let maxBytes: Int64
    let maxEntryBytes: Int64
    let ratio: Int64
    let keepsEncrypted: Bool
    let keepsDamaged: Bool
    /// Empty: all names.
    let only: [NamePattern]
    /// The parts of documents are taken out, too.
    let takesParts: Bool
  }

  /// Below it, the ratio does not count: a small file may hold a text that repeats itself.
  private static let ratioStart: Int64 = 1_000_000

  private let attachment: Attachment
  private let policy: Policy
  /// The content is a document: its parts stay in it.
  private let leavesParts: Bool
  private let buffer: UnsafeMutableRawBufferPointer
  /// Bytes that the pipeline takes out of it.
  private let room: UInt64

  private var entries: Int64 = 0
  /// Entries that are files with a content of their own.
  private var withContent: Int64 = 0
  private var files: Int64 = 0
  private var bytes: Int64 = 0
  private var skipped: Int64 = 0
  private var skippedBytes: Int64 = 0
  private var encrypted: Int64 = 0
  private var damage: String?
  private var format: String?
  private var compression: String?
  /// The ZIP at the end of the content that a file may be.
  private var watched: EndRecord?
  /// Whether one of the files that were taken out is that ZIP, byte for byte.
  private(set) var hasTakenWatched = false
  /// Whether it is read behind another archive, whose bytes may look like a ZIP: its damage is noted and no more.
  private var isBehind = false

  init(_ attachment: Attachment, _ policy: Policy, _ buffer: UnsafeMutableRawBufferPointer) {
    self.attachment = attachment
    self.policy = policy
    leavesParts = !policy.takesParts && DocumentParts.isDocument(attachment)
    self.buffer = buffer
    room = attachment.childRoom.bytes
  }

  /// Takes out all that may be. Returns whether it is an archive.
  ///
  /// - Parameter first: what the reader said of the first entry.
  mutating func run(
    _ reader: Reader, from first: Result<ArchiveEntry?, Damage>, watching watched: EndRecord? = nil,
    isBehind: Bool = false
  ) throws(Outcome) -> Bool {
    self.watched = watched
    self.isBehind = isBehind
    defer {
      format = format ?? reader.format
      compression = compression ?? reader.compressionName
    }
    var next = first
    while !attachment.isCancelled {
      switch next {
      case .success(let entry?):
        entries += 1
        try checkEntries()
        if try take(entry, reader) { return true }
      case .success(nil):
        return true
      case .failure(let found):
        if reader.format == nil && reader.compressionName == nil {
          try reader.checkSource()
          return false
        }
        if try meet(found, reader) { return true }
        // What cannot be read is an entry all the same, so that each turn counts.
        entries += 1
        try checkEntries()
      }
      next = reader.next()
    }
    return true
  }

  /// Takes out one entry, or leaves it. Returns whether nothing more can be read.
  private mutating func take(_ entry: ArchiveEntry, _ reader: Reader) throws(Outcome) -> Bool {
    if entry.isFile, (entry.size ?? 0) > 0 { withContent += 1 }
    guard entry.isFile else {
      try checkContent(of: entry, reader)
      return try skip(reader)
    }
    if entry.isEncrypted {
      try meetEncryption()
      return false
    }
    let path = reader.isSingleFile ? try reader.innerName() : entry.path
    guard policy.only.isEmpty || policy.only.contains(where: { $0.matches(path ?? "") }) else {
      return try skip(reader)
    }
    if leavesParts, DocumentParts.has(path ?? "") { return try skip(reader) }
    // The host puts its own reason, such as the depth, in the place of any that follows a content it has refused. So no limit of
    // the pipeline is looked at before.
    guard let child = attachment.addChild(path) else {
      throw .reject("too-many-entries", "no more contents are taken out of it")
    }
    // A claim may be false, but what claims too much need not be unpacked.
    if let size = entry.size { try checkSizes(of: size, "claims", path) }
    files += 1
    return try copy(path, entry.size, to: child, reader)
  }

  private mutating func copy(_ path: String?, _ size: Int64?, to child: Int32, _ reader: Reader)
    throws(Outcome) -> Bool
  {
    let before = bytes
    var isWatched = watched != nil
    while !attachment.isCancelled {
      switch reader.read(into: buffer) {
      case .success(let found):
        let count = found > 0 ? found : fillHole(to: size, from: bytes - before, reader)
        if count == 0 {
          if let watched, isWatched, bytes - before >= watched.end - watched.start { hasTakenWatched = true }
          return false
        }
        let data = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        if let watched, isWatched {
          isWatched = try attachment.read(count, at: watched.start + bytes - before).elementsEqual(data)
        }
        bytes += Int64(count)
        try checkSizes(of: bytes - before, besides: before, "has", path)
        try Attachment.append(data, to: child)
      case .failure(let found):
        return try meet(found, reader)
      }
    }
    return true
  }

  /// libarchive leaves out the hole at the end of a sparse file, which only a tar has: otherwise its files end with their data.
  /// Returns how many zeros are in the buffer.
  private func fillHole(to size: Int64?, from end: Int64, _ reader: Reader) -> Int {
    guard reader.format == "tar", let size, size > end else { return 0 }
    let zeros = Int(min(size - end, Int64(buffer.count)))
    UnsafeMutableRawBufferPointer(rebasing: buffer[..<zeros]).initializeMemory(as: UInt8.self, repeating: 0)
    return zeros
  }

  /// Rejects a tar that libarchive does not know for one.
  mutating func checkTar() throws(Outcome) {
    let head = [UInt8](try attachment.read(512, at: 0))
    guard TarWalk.isHeader(head) else { return }
    format = "tar"
    try meetTarFault("it begins as a tar, with an entry of a kind that is not known")
  }

  /// Rejects a tar in which other programs may see other entries.
  ///
  /// - Parameters:
  ///   - reader: of the tar as bytes; `nil`: it is not compressed.
  ///   - start: where it begins.
  mutating func checkTarEntries(_ reader: Reader?, from start: Int64) throws(Outcome) {
    var place = start
    let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, 64 << 10)])
    let (attachment, most) = (attachment, ratioBytes)
    var walk = TarWalk { (count: Int) throws(Outcome) -> ArraySlice<UInt8> in
      guard let reader else {
        defer { place += Int64(count) }
        return try attachment.read(count, at: place)[...]
      }
      if place > most { throw .reject("ratio", "it unpacks to more than `ratio` allows") }
      var done = 0
      while done < count, !attachment.isCancelled {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<count])
        guard case .success(let found) = reader.read(into: rest), found > 0 else { break }
        done += found
      }
      place += Int64(done)
      return [UInt8](buffer[..<done])[...]
    }
    let (allowed, _) = policy.maxEntries.multipliedReportingOverflow(by: 4)
    if let fault = try walk.fault(most: max(allowed, policy.maxEntries)) { return try meetTarFault(fault) }
    if damage == nil, walk.entries != entries {
      try meetTarFault("\(walk.entries) entries follow each other in it, and libarchive sees \(entries)")
    }
  }

  /// Rejects more of a file that is compressed with gzip, behind zeros or with marks that are not known: some programs unpack it, and
  /// others do not (RFC 1952, section 2.2).
  mutating func checkMembers(behind place: Int64) throws(Outcome) {
    var place = max(place, 0)
    while place < attachment.size {
      let bytes = try attachment.read(64 << 10, at: place)
      if bytes.isEmpty { return }
      if let index = bytes.firstIndex(where: { $0 != 0 }) {
        place += Int64(index - bytes.startIndex)
        guard try attachment.read(2, at: place).elementsEqual([0x1F, 0x8B]) else { return }
        if !policy.keepsDamaged {
          throw .reject("damaged", "more of it follows that not all programs unpack")
        }
        damage = damage ?? "more of it follows that not all programs unpack"
        return
      }
      place += Int64(bytes.count)
    }
  }

  /// Rejects a RAR of which libarchive leaves out what is behind a block.
  mutating func checkBlocks(from start: Int64) throws(Outcome) {
    guard var walk = try RARWalk(attachment, from: start) else { return }
    let (most, isTooMuch) = policy.maxEntries.multipliedReportingOverflow(by: 4)
    if let fault = try walk.fault(most: isTooMuch ? .max : most) { try meetFault(fault) }
  }

  /// Rejects an ISO 9660 in which other programs may see other files.
  mutating func checkTrees() throws(Outcome) {
    let (most, isTooMuch) = policy.maxEntries.multipliedReportingOverflow(by: 8)
    var trees = IsoTrees(attachment, most: isTooMuch ? .max : most)
    if let fault = try trees.fault() { return try meetFault(fault) }
    // By its own notes, which some programs do not read, a file may be called a folder.
    if damage == nil, !trees.hasPieces, trees.files != withContent {
      try meetFault("\(trees.files) files with content lie in it, and libarchive sees \(withContent)")
    }
  }

  private mutating func meetTarFault(_ message: String) throws(Outcome) {
    if !policy.keepsDamaged {
      throw .reject("damaged", "of this tar, programs see different entries: \(message)")
    }
    damage = damage ?? message
  }

  /// Rejects what libarchive skips and other programs write as a file: what has content, and the name of a folder in a ZIP, or
  /// elsewhere the mode of a folder or a device; and a link that leads to no name.
  private mutating func checkContent(of entry: ArchiveEntry, _ reader: Reader) throws(Outcome) {
    let isLink = entry.isLink && reader.format != "ar"
    guard ["zip", "7z", "rar", "cpio", "ar"].contains(reader.format),
      isLink ? !entry.hasName : (entry.size ?? 0) > 0
    else { return }
    let message = "'\(shown(entry.path))' has content, and is marked as a folder, a link or a device"
    if !policy.keepsDamaged { throw .reject("damaged", message) }
    damage = damage ?? message
  }

  private mutating func skip(_ reader: Reader) throws(Outcome) -> Bool {
    skipped += 1
    while reader.unpacksWhatIsSkipped, !attachment.isCancelled {
      switch reader.read(into: buffer) {
      case .success(0): return false
      case .success(let count):
        skippedBytes += Int64(count)
        if bytes + skippedBytes > ratioBytes { throw tooDense() }
      case .failure(let found): return try meet(found, reader)
      }
    }
    return false
  }

  // MARK: Limits

  private func checkEntries() throws(Outcome) {
    if entries > policy.maxEntries {
      throw .reject(
        "too-many-entries", "it has more than the \(policy.maxEntries) entries that `max-entries` allows")
    }
  }

  /// - Parameters:
  ///   - size: of one file, so far or as it claims.
  ///   - before: of those before it; `nil`: all that were unpacked.
  private func checkSizes(of size: Int64, besides before: Int64? = nil, _ verb: String, _ path: String?)
    throws(Outcome)
  {
    let file = "'\(shown(path))' \(verb)"
    if size > policy.maxEntryBytes {
      throw .reject(
        "too-large", "\(file) more than the \(policy.maxEntryBytes) bytes that `max-entry-bytes` allows")
    }
    let (sum, isTooLarge) = (before ?? bytes).addingReportingOverflow(size)
    let total = isTooLarge ? .max : sum
    if total > policy.maxBytes {
      throw .reject(
        "too-large",
        "with '\(shown(path))' it \(verb) more than the \(policy.maxBytes) bytes that `max-bytes` allows")
    }
    if total > Int64(clamping: room) {
      throw .reject(
        "too-large",
        "with '\(shown(path))' it \(verb) more than the \(room) bytes that the pipeline takes out of it"
      )
    }
    if before != nil, total > ratioBytes { throw tooDense() }
  }

  /// What may be unpacked by `ratio`.
  private var ratioBytes: Int64 {
    let (product, isTooLarge) = attachment.size.multipliedReportingOverflow(by: policy.ratio)
    return isTooLarge ? .max : max(product, Self.ratioStart)
  }

  private func tooDense() -> Outcome {
    .reject(
      "ratio",
      "its \(attachment.size) bytes unpack to more than \(policy.ratio) times as much, which `ratio` allows")
  }

  private func shown(_ path: String?) -> String {
    String((path ?? "").unicodeScalars.prefix(100).map(Character.init))
  }

  // MARK: Damage

  /// Returns whether nothing more can be read.
  private mutating func meet(_ found: Damage, _ reader: Reader) throws(Outcome) -> Bool {
    try reader.checkSource()
    // What needs a password looks damaged to libarchive, where the list of entries needs it as well.
    if found.isEncrypted {
      try meetEncryption()
      return found.isFinal
    }
    // Where nothing comes out of a compression, libarchive says that it knows no such format.
    let message = reader.format == nil ? "nothing comes out of its compression" : found.message
    if !policy.keepsDamaged && !isBehind { throw .reject("damaged", "it cannot be unpacked: \(message)") }
    damage = damage ?? message
    return found.isFinal
  }

  /// Meets a ZIP whose directory does not tell all that is in it.
  ///
  /// - Parameter front: the archive that begins the content. What is compressed in it may look like a ZIP with a few bytes between
  ///   its parts, as where one is compressed that hardly becomes smaller.
  mutating func meetFault(_ message: String, behind front: Reader? = nil) throws(Outcome) {
    let mayBeData = front.map { $0.compressionName != nil || ["7z", "rar"].contains($0.format) } ?? false
    if !policy.keepsDamaged && !mayBeData { throw .reject("damaged", message) }
    damage = damage ?? message
  }

  private mutating func meetEncryption() throws(Outcome) {
    encrypted += 1
    if !policy.keepsEncrypted { throw .reject("encrypted", "a password is needed to unpack it") }
  }

  // MARK: Metadata

  func annotate() {
    if format == nil && compression == nil { return }
    if let format { attachment.annotate("archive.format", format) }
    if let compression { attachment.annotate("archive.compression", compression) }
    attachment.annotate("archive.entries", entries)
    attachment.annotate("archive.files", files)
    attachment.annotate("archive.bytes", bytes)
    attachment.annotate("archive.skipped", skipped)
    if encrypted > 0 { attachment.annotate("archive.encrypted", encrypted) }
    if let damage { attachment.annotate("archive.damaged", damage) }
  }
}
