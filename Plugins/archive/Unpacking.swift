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
  }

  /// Below it, the ratio does not count: a small file may hold a text that repeats itself.
  private static let ratioStart: Int64 = 1_000_000

  private let attachment: Attachment
  private var reader: Reader
  /// Of the content itself; a ZIP at its end may be another.
  private var format: String?
  private let policy: Policy
  private let buffer: UnsafeMutableRawBufferPointer
  /// Bytes that the pipeline takes out of it.
  private let room: UInt64

  private var entries: Int64 = 0
  private var files: Int64 = 0
  private var bytes: Int64 = 0
  private var skipped: Int64 = 0
  private var skippedBytes: Int64 = 0
  private var encrypted: Int64 = 0
  private var damage: String?

  /// What others may find at the end of the content.
  private let zip: ZipEnd?
  /// Whether one of the files is just that, as where an archive is the last in a tar.
  private var hasTakenZip = false

  init(
    _ attachment: Attachment, _ reader: Reader, _ zip: ZipEnd?, _ policy: Policy,
    _ buffer: UnsafeMutableRawBufferPointer
  ) {
    self.zip = zip
    self.attachment = attachment
    self.reader = reader
    self.policy = policy
    self.buffer = buffer
    room = attachment.childRoom.bytes
  }

  /// Takes out all that may be. Returns whether it is an archive.
  ///
  /// - Parameter first: what the reader said of the first entry.
  mutating func run(from first: Result<ArchiveEntry?, Damage>) throws(Outcome) -> Bool {
    defer { format = format ?? reader.format }
    var next = first
    while !attachment.isCancelled {
      switch next {
      case .success(let entry?):
        entries += 1
        try checkEntries()
        if try take(entry) { return true }
      case .success(nil):
        return true
      case .failure(let found):
        if reader.format == nil && reader.compressionName == nil {
          try reader.checkSource()
          return false
        }
        if try meet(found) { return true }
        // What cannot be read is an entry all the same, so that each turn counts.
        entries += 1
        try checkEntries()
      }
      next = reader.next()
    }
    return true
  }

  /// Takes out what programs find that look for a ZIP at the end, where that was not seen yet.
  ///
  /// - Parameter read: reads the content up to a place, as a ZIP.
  /// - Returns: whether there was one.
  mutating func takeZip(_ read: (Int64) throws(Outcome) -> Reader) throws(Outcome) -> Bool {
    guard let zip, !zip.isRead(as: format), !hasTakenZip, !attachment.isCancelled else { return false }
    reader = try read(zip.range.upperBound)
    if try !run(from: reader.next()) {
      _ = try meet(Damage(message: "a ZIP at its end cannot be read", isFinal: true, isEncrypted: false))
    }
    return true
  }

  /// Takes out one entry, or leaves it. Returns whether nothing more can be read.
  private mutating func take(_ entry: ArchiveEntry) throws(Outcome) -> Bool {
    if reader.format == "zip" && entry.isDisguised {
      let message = "'\(shown(entry.path))' has bytes, and is said to be a folder or a device"
      _ = try meet(Damage(message: message, isFinal: false, isEncrypted: false))
    }
    guard entry.isFile else { return try skip() }
    if entry.isEncrypted {
      try meetEncryption()
      return false
    }
    let path = reader.isSingleFile ? try reader.innerName() : entry.path
    guard policy.only.isEmpty || policy.only.contains(where: { $0.matches(path ?? "") }) else {
      return try skip()
    }
    // The host puts its own reason, such as the depth, in the place of any that follows a content it has refused. So no limit of
    // the pipeline is looked at before.
    guard let child = attachment.addChild(path) else {
      throw .reject("too-many-entries", "no more contents are taken out of it")
    }
    // A claim may be false, but what claims too much need not be unpacked.
    if let size = entry.size { try checkSizes(of: size, "claims", path) }
    files += 1
    return try copy(path, entry.size, to: child)
  }

  private mutating func copy(_ path: String?, _ size: Int64?, to child: Int32) throws(Outcome) -> Bool {
    let before = bytes
    // One that is the ZIP at the end, with its comment.
    var isZip = zip.map { ($0.range.count...($0.range.count + 0xFFFF)).contains(Int(size ?? -1)) } ?? false
    while !attachment.isCancelled {
      switch reader.read(into: buffer) {
      case .success(let found):
        let count = found > 0 ? found : fillHole(to: size, from: bytes - before)
        if count == 0 {
          if isZip { hasTakenZip = true }
          return false
        }
        if isZip {
          isZip = try isOfZip(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: bytes - before)
        }
        bytes += Int64(count)
        try checkSizes(of: bytes - before, besides: before, "has", path)
        try Attachment.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: child)
      case .failure(let found):
        return try meet(found)
      }
    }
    return true
  }

  /// Whether bytes of a file lie at the same place of the ZIP at the end.
  private func isOfZip(_ bytes: UnsafeRawBufferPointer, at place: Int64) throws(Outcome) -> Bool {
    guard let range = zip?.range, place < range.count else { return true }
    let count = min(bytes.count, range.count - Int(place))
    return try attachment.read(count, at: range.lowerBound + place).elementsEqual(bytes[..<count])
  }

  /// libarchive leaves out the hole at the end of a sparse file, which only a tar has: otherwise its files end with their data.
  /// Returns how many zeros are in the buffer.
  private func fillHole(to size: Int64?, from end: Int64) -> Int {
    guard reader.format == "tar", let size, size > end else { return 0 }
    let zeros = Int(min(size - end, Int64(buffer.count)))
    UnsafeMutableRawBufferPointer(rebasing: buffer[..<zeros]).initializeMemory(as: UInt8.self, repeating: 0)
    return zeros
  }

  private mutating func skip() throws(Outcome) -> Bool {
    skipped += 1
    while reader.unpacksWhatIsSkipped, !attachment.isCancelled {
      switch reader.read(into: buffer) {
      case .success(0): return false
      case .success(let count):
        skippedBytes += Int64(count)
        if bytes + skippedBytes > ratioBytes { throw tooDense() }
      case .failure(let found): return try meet(found)
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
  private mutating func meet(_ found: Damage) throws(Outcome) -> Bool {
    try reader.checkSource()
    // What needs a password looks damaged to libarchive, where the list of entries needs it as well.
    if found.isEncrypted {
      try meetEncryption()
      return found.isFinal
    }
    // Where nothing comes out of a compression, libarchive says that it knows no such format.
    let message = reader.format == nil ? "nothing comes out of its compression" : found.message
    if !policy.keepsDamaged { throw .reject("damaged", "it cannot be unpacked: \(message)") }
    damage = damage ?? message
    return found.isFinal
  }

  private mutating func meetEncryption() throws(Outcome) {
    encrypted += 1
    if !policy.keepsEncrypted { throw .reject("encrypted", "a password is needed to unpack it") }
  }

  // MARK: Metadata

  /// Says what was found, if it is an archive.
  func annotate() {
    if format ?? reader.compressionName == nil { return }
    if let format { attachment.annotate("archive.format", format) }
    if let compression = reader.compressionName { attachment.annotate("archive.compression", compression) }
    attachment.annotate("archive.entries", entries)
    attachment.annotate("archive.files", files)
    attachment.annotate("archive.bytes", bytes)
    attachment.annotate("archive.skipped", skipped)
    if encrypted > 0 { attachment.annotate("archive.encrypted", encrypted) }
    if let damage { attachment.annotate("archive.damaged", damage) }
  }
}
