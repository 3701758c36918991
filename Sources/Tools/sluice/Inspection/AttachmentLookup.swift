import Glibc
import HomeFolder
import LedgerPort
import Platform

/// Finds the one attachment that a person means: by the beginning of its id, by the path of its object, or by that of its
/// source; of a message in a mailbox, whose hash the lists leave out, by the beginning of that.
struct AttachmentLookup {
  enum Found {
    case attachment(AttachmentRecord)
    /// A person has deleted it.
    case tombstone(Tombstone)
  }

  private let ledger: any LedgerQueries
  private let home: Home
  private let hint: Hint

  init(_ ledger: any LedgerQueries, _ home: Home, _ hint: Hint) {
    (self.ledger, self.home, self.hint) = (ledger, home, hint)
  }

  /// The attachment; one that was deleted is an error.
  func attachment(_ word: String) throws -> AttachmentRecord {
    switch try find(word) {
    case .attachment(let record): return record
    case .tombstone(let tombstone):
      throw CommandError.usage(
        "attachment \(tombstone.id) was deleted at \(Clock.timestamp(tombstone.deletedAt)) by "
          + "\(Terminal.printable(tombstone.deletedBy)), with its object; nothing brings it back")
    }
  }

  func find(_ word: String) throws -> Found {
    let prefix = word.lowercased()
    if Self.isBeginningOfId(prefix) {
      let records = try ledger.attachments(idPrefix: prefix)
      if let record = try only(records, word, "begin with", exact: prefix) { return .attachment(record) }
      let tombstones = try ledger.tombstones(idPrefix: prefix)
      if tombstones.count > 1 && tombstones.first?.id != prefix {
        throw ambiguous(
          word, "begin with", tombstones.map { "\($0.id)  deleted \(Clock.timestamp($0.deletedAt))" })
      }
      if let tombstone = tombstones.first { return .tombstone(tombstone) }
    }
    var filter = AttachmentFilter()
    filter.objectPath = objectPath(word)
    if let record = try only(try matches(filter), word, "have the object") { return .attachment(record) }
    for filter in Self.filters(bySource: word) {
      if let record = try only(try matches(filter), word, "come from") { return .attachment(record) }
    }
    let printable = Terminal.printable(word)
    throw CommandError.usage(
      Self.isBeginningOfId(prefix)
        ? "no attachment's id begins with '\(printable)'; \(hint("list")) prints them all"
        : "no attachment has the id, the object or the source '\(printable)'; \(hint("list")) prints them all"
    )
  }

  private static func isBeginningOfId(_ word: String) -> Bool {
    !word.isEmpty && word.utf8.count <= 36
      && word.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
          || $0 == UInt8(ascii: "-")
      }
  }

  // MARK: Paths

  /// The path of an object below the store, also where it is given with the store's own.
  private func objectPath(_ word: String) -> String {
    let store = home.storePath + "/"
    return word.hasPrefix(store) ? String(word.dropFirst(store.count)) : word
  }

  /// What is asked for where a word is a source: a message at its place, and else a file.
  private static func filters(bySource word: String) -> [AttachmentFilter] {
    var filters: [AttachmentFilter] = []
    let word = ArgumentBytes.of([word])[0]
    if let message = MboxPath.beginning(word) {
      for file in sources(message.file) {
        filters.append(AttachmentFilter())
        filters[filters.count - 1].sourceStart = file + message.rest
      }
    }
    for source in sources(word) {
      filters.append(AttachmentFilter())
      filters[filters.count - 1].source = source
    }
    return filters
  }

  /// The paths under which a source may be on record: absolute, without links if the file is there still.
  private static func sources(_ word: [UInt8]) -> [[UInt8]] {
    var sources: [[UInt8]] = []
    if let resolved = word.withPath({ realpath($0, nil) }) {
      sources.append(Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved))))
      free(resolved)
    }
    if word.first == UInt8(ascii: "/") {
      sources.append(word)
    } else if let folder = getcwd(nil, 0) {
      sources.append(
        Array(UnsafeRawBufferPointer(start: folder, count: strlen(folder))) + [UInt8(ascii: "/")] + word)
      free(folder)
    }
    return sources.count == 2 && sources[0] == sources[1] ? [sources[0]] : sources
  }

  // MARK: Several

  /// As many as are shown where there are several, and one more.
  private static let most = 6

  private func matches(_ filter: AttachmentFilter) throws -> [AttachmentRecord] {
    var found: [AttachmentRecord] = []
    try ledger.attachments(filter) { record in
      found.append(record)
      return found.count < Self.most
    }
    return found
  }

  private func only(
    _ records: [AttachmentRecord], _ word: String, _ relation: String, exact: String? = nil
  ) throws -> AttachmentRecord? {
    if records.count <= 1 || records.first?.origin.id == exact { return records.first }
    throw ambiguous(
      word, relation,
      records.map {
        "\($0.origin.id)  \($0.outcome.status.rawValue)  \(Terminal.printable($0.origin.fileName))"
      })
  }

  private func ambiguous(_ word: String, _ relation: String, _ lines: [String]) -> CommandError {
    let printable = Terminal.printable(word)
    let what =
      relation == "begin with"
      ? "several ids begin with '\(printable)'; write more of it:"
      : "several attachments \(relation) '\(printable)'; give the id of one:"
    let more = lines.count >= Self.most ? ["  and more"] : []
    return CommandError(.usage, [what] + lines.prefix(Self.most - 1).map { "  \($0)" } + more)
  }
}
