import StageKit

/// Whether the directory of a ZIP tells all that is in it. Programs find the files by the directory's size, by its place, by the
/// number of entries, or by the entries themselves from the beginning on: where these do not agree, one program shows what another
/// hides.
struct DirectoryCheck {
  enum Finding {
    case sound
    /// What is wrong.
    case faulty(String)
    /// The end record leads to no entry, so that nobody takes the content for a ZIP.
    case noZip
  }

  private let attachment: Attachment
  private let record: EndRecord
  /// Where an entry of a ZIP begins the content; `nil`: none does.
  private let front: Int64?
  /// From an entry's header to the end of its content.
  private var areas: [(start: Int64, end: Int64)] = []

  /// Where an entry of a ZIP begins the content, as those see it who read it from the beginning on; `nil`: none does.
  static func front(of attachment: Attachment) throws(Outcome) -> Int64? {
    let head = try attachment.read(8, at: 0)
    if head.starts(with: ZipSignature.local) { return 0 }
    return ZipSignature.marks.contains { head.elementsEqual($0 + ZipSignature.local) } ? 4 : nil
  }

  /// What the ZIP is found to be: sound also where it has more entries than are looked at.
  ///
  /// - Parameters:
  ///   - front: where an entry begins the content.
  ///   - most: entries that are looked at.
  static func finding(on record: EndRecord, in attachment: Attachment, front: Int64?, most: Int64)
    throws(Outcome) -> Finding
  {
    var check = DirectoryCheck(attachment: attachment, record: record, front: front)
    var fault = record.fault
    if fault == nil { fault = try check.fault(most: most) }
    guard let fault else { return .sound }
    if front != nil { return .faulty(fault) }
    return try check.leadsToEntry(most: most) ? .faulty(fault) : .noZip
  }

  private init(attachment: Attachment, record: EndRecord, front: Int64?) {
    (self.attachment, self.record, self.front) = (attachment, record, front)
  }

  /// Whether some directory that a program may find leads to some entry. In a database or an older document that holds a ZIP in
  /// pieces, none does: nobody takes it for a ZIP.
  private func leadsToEntry(most: Int64) throws(Outcome) -> Bool {
    let offsets = Set(record.places.map { $0 &- record.claim.offset } + [0])
    for directory in Set(record.places) {
      var place = directory
      for _ in 0..<most {
        let header = try attachment.read(46, at: place)
        guard header.count == 46, header.starts(with: ZipSignature.entry) else { break }
        let told = zipNumber(header[...], at: 42, 4)
        for offset in offsets where told &+ offset >= 0 {
          if try attachment.read(4, at: told &+ offset) == ZipSignature.local { return true }
        }
        place += Int64(EndRecord.sizeOfEntry(header[...]))
      }
    }
    return false
  }

  private mutating func fault(most: Int64) throws(Outcome) -> String? {
    let claim = record.claim
    guard claim.size >= 0, claim.size <= claim.end, claim.offset >= 0 else {
      return "its directory would begin before the content"
    }
    let directory = claim.end - claim.size
    let prefix = directory - claim.offset
    guard prefix >= 0, claim.shift == nil || claim.shift == prefix else {
      return "its directory is not where its end record says"
    }
    if let front, prefix > front { return "its directory leaves out what it begins with" }
    var place = directory
    var count: Int64 = 0
    while place < claim.end {
      let header = try attachment.read(46, at: place)
      guard header.count == 46, header.starts(with: ZipSignature.entry) else { break }
      count += 1
      if count > most { return nil }
      let (name, extra) = (zipNumber(header[...], at: 28, 2), zipNumber(header[...], at: 30, 2))
      let fields =
        header[42...].elementsEqual([0xFF, 0xFF, 0xFF, 0xFF]) || Self.isLarge(header[20..<28])
        ? try attachment.read(Int(extra), at: place + 46 + name) : []
      if let fault = try enter(header, fields, from: prefix, before: directory) { return fault }
      place += Int64(EndRecord.sizeOfEntry(header[...]))
    }
    let rest = try attachment.read(6, at: place)
    if rest.starts(with: ZipSignature.digitalSignature) { place += 6 + zipNumber(rest[...], at: 4, 2) }
    guard place == claim.end else { return "its directory does not end where its end record begins" }
    // Before ZIP64, the number of more entries than it can hold was written without its upper bits.
    guard count == claim.count || claim.shift == nil && count & 0xFFFF == claim.count else {
      return "it has \(count) entries, and its end record says \(claim.count)"
    }
    return try hiddenEntry(from: prefix, to: directory)
  }

  /// Both sizes, of which one has all bits set.
  private static func isLarge(_ sizes: ArraySlice<UInt8>) -> Bool {
    zipNumber(sizes, at: 0, 4) == 0xFFFF_FFFF || zipNumber(sizes, at: 4, 4) == 0xFFFF_FFFF
  }

  /// Notes where an entry lies. Returns what is wrong with it.
  private mutating func enter(
    _ header: [UInt8], _ extra: [UInt8], from prefix: Int64, before directory: Int64
  ) throws(Outcome) -> String? {
    var numbers = LargeNumbers(extra[...])
    _ = numbers.resolve(zipNumber(header[...], at: 24, 4))
    let size = numbers.resolve(zipNumber(header[...], at: 20, 4))
    let offset = numbers.resolve(zipNumber(header[...], at: 42, 4))
    guard size >= 0, offset >= 0, offset < directory - prefix else { return "its directory leads out of it" }
    let start = prefix + offset
    let local = try attachment.read(30, at: start)
    guard local.count == 30, local.starts(with: ZipSignature.local) else {
      return "its directory names an entry that is not there"
    }
    let (name, fields) = (zipNumber(local[...], at: 26, 2), zipNumber(local[...], at: 28, 2))
    // With bit 3, the size stands behind the content.
    if local[6] & 8 == 0 {
      var numbers = LargeNumbers(
        Self.isLarge(local[18..<26]) ? try attachment.read(Int(fields), at: start + 30 + name)[...] : [])
      _ = numbers.resolve(zipNumber(local[...], at: 22, 4))
      guard numbers.resolve(zipNumber(local[...], at: 18, 4)) == size else {
        return "an entry has another size than its directory says"
      }
    }
    let (end, isTooLarge) = (start + 30 + name + fields).addingReportingOverflow(size)
    areas.append((start, isTooLarge ? directory : end))
    return nil
  }

  // MARK: Between the entries

  /// Looks for entries that the directory does not name: those who read from the beginning on find them.
  private mutating func hiddenEntry(from prefix: Int64, to directory: Int64) throws(Outcome) -> String? {
    areas.sort { $0.start < $1.start }
    // In front of a ZIP whose offsets count from the beginning of the content, a program may stand: its bytes are its own.
    var end = prefix > 0 || front != nil ? prefix : areas.first?.start ?? directory
    var last: Int64 = -1
    for area in areas {
      if area.start == last { return "its directory names an entry twice" }
      last = area.start
      if try hasEntry(from: end, to: area.start) { return "it has an entry that its directory does not name" }
      end = max(end, area.end)
    }
    return try hasEntry(from: end, to: directory) ? "it has an entry that its directory does not name" : nil
  }

  /// Whether the header of an entry lies in a gap. Builders of Android's packages fill theirs with entries without a name and a
  /// content.
  private func hasEntry(from start: Int64, to end: Int64) throws(Outcome) -> Bool {
    var place = start
    while end - place >= 30 {
      let bytes = try attachment.read(Int(min(end - place, 256 << 10)), at: place)
      guard bytes.count >= 30 else { return false }
      var index = 0
      while index <= bytes.count - 30 {
        guard bytes[index] == 0x50, bytes[index...].starts(with: ZipSignature.local) else {
          index += 1
          continue
        }
        let header = bytes[index..<(index + 30)]
        let isFiller =
          header[index + 6] & 8 == 0 && zipNumber(header, at: 18, 8) == 0 && zipNumber(header, at: 26, 2) == 0
        if !isFiller { return true }
        index += 30 + Int(zipNumber(header, at: 28, 2))
      }
      place += Int64(index)
    }
    return false
  }
}
