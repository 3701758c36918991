import StageKit

/// Takes the files out of an archive: each becomes a content of its own.
struct Archive: Stage {
  static let about = About(
    id: "archive", version: "1.4.0",
    summary: "Takes the files out of archives and compressed files, within limits.",
    expands: true,
    keys: [
      "archive.format": "`zip`, `tar`, `7z`, `rar`, `cpio`, `ar`, `iso`, or `file`: one compressed file.",
      "archive.compression": "How all of it is compressed: `gzip`, `bzip2`, `xz`, `zstd` or `lz4`.",
      "archive.entries": "The number of entries that were seen, folders and links among them.",
      "archive.files": "The number of files that were taken out.",
      "archive.bytes": "The bytes of these files.",
      "archive.skipped":
        "The number of entries that were left: folders, links, devices, what is not in `only`.",
      "archive.encrypted": "The number of entries that need a password and were left.",
      "archive.damaged": "What libarchive says of the damage, where `damaged` is `keep`.",
    ],
    codes: [
      "encrypted": "It needs a password, and `encrypted` is `reject`.",
      "damaged":
        "It is damaged, or written in a way that libarchive does not read, and `damaged` is `reject`.",
      "too-many-entries":
        "It has more entries than `max-entries` allows, or more files than the pipeline takes.",
      "too-large": "Unpacked it is larger than `max-bytes`, `max-entry-bytes` or the pipeline allows.",
      "ratio": "Unpacked it is more than `ratio` times as large.",
      "no-archive": "It is no archive that is known, and `no-archive` is `reject`.",
      "unreadable": "The system cannot read the content.",
      "source-changed": "The content was changed since it was measured.",
      "not-written": "The system does not take the files.",
      "out-of-memory": "Unpacking it takes more memory than the stage may use.",
      "archive-unavailable": "libarchive does not work on this machine.",
    ])

  static let maxEntries = Option<Int64>.integer(
    "max-entries", default: 10_000, help: "The most entries, folders and links among them."
  ).within(1...10_000_000)
  static let maxBytes = Option<Int64>.bytes(
    "max-bytes", default: "64MB", help: "The most bytes of all files together, unpacked."
  ).within(1...(1 << 50))
  static let maxEntryBytes = Option<Int64>.bytes(
    "max-entry-bytes", default: "64MB", help: "The most bytes of one file, unpacked."
  ).within(1...(1 << 50))
  static let ratio = Option<Int64>.integer(
    "ratio", default: 200, help: "How many times as large it may be unpacked; counts from 1 MB on."
  ).within(1...10_000_000)
  static let encrypted = Option<String>.text(
    "encrypted", default: "reject", help: "What becomes of an archive with entries that need a password."
  ).among("reject", "keep")
  static let damaged = Option<String>.text(
    "damaged", default: "reject",
    help: "What becomes of a damaged archive; `keep` takes out what can be read."
  ).among("reject", "keep")
  static let noArchive = Option<String>.text(
    "no-archive", default: "pass", help: "What becomes of content that is no archive."
  ).among("pass", "reject")
  static let only = Option<[String]>.texts(
    "only",
    help: "Names of files that are taken out, with `*` and `?`; a pattern with `/` is for the whole path."
  )
  static let documents = Option<String>.text(
    "documents", default: "embedded",
    help:
      "What is taken out of office documents and e-books: the files put into them, or all that they consist of."
  ).among("embedded", "all")
  static let options: [any OptionDeclaration] = [
    maxEntries, maxBytes, maxEntryBytes, ratio, encrypted, damaged, noArchive, only, documents,
  ]

  private let policy: Unpacking.Policy
  private let rejectsOthers: Bool
  private let surroundings: Surroundings
  private let buffers = Buffers()

  init(_ opening: Opening) throws(Outcome) {
    policy = Unpacking.Policy(
      maxEntries: opening[Self.maxEntries], maxBytes: opening[Self.maxBytes],
      maxEntryBytes: opening[Self.maxEntryBytes], ratio: opening[Self.ratio],
      keepsEncrypted: opening[Self.encrypted] == "keep", keepsDamaged: opening[Self.damaged] == "keep",
      only: opening[Self.only].map(NamePattern.init), takesParts: opening[Self.documents] == "all")
    rejectsOthers = opening[Self.noArchive] == "reject"
    surroundings = try Surroundings()
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    let isArchive = try surroundings.use { () throws(Outcome) in
      var unpacking = Unpacking(attachment, policy, buffers.output)
      return try unpack(attachment, &unpacking)
    }
    if !isArchive && rejectsOthers {
      throw .reject("no-archive", "the content is no archive of a format that is known")
    }
  }

  /// Takes out what is in the content by its beginning, and then what is in a ZIP by its end: programs open the one or the other.
  /// Returns whether it is an archive.
  private func unpack(_ attachment: Attachment, _ unpacking: inout Unpacking) throws(Outcome) -> Bool {
    let compression = try Compression(attachment)
    let front = try DirectoryCheck.front(of: attachment)
    var fault = front != nil ? "it begins as a ZIP, and its end leads to no directory" : nil
    var zip: (reader: Reader, first: Result<ArchiveEntry?, Damage>, record: EndRecord)?
    let record = try EndRecord(attachment)
    if let record {
      zip = try open(record, attachment)
      switch try DirectoryCheck.finding(on: record, in: attachment, front: front, most: policy.maxEntries) {
      case .sound: fault = zip == nil ? "libarchive does not read its directory" : nil
      case .faulty(let found): fault = found
      case .noZip: zip = nil
      }
    }
    if front != nil, let fault { try unpacking.meetFault(fault) }
    let formats: Reader.Formats = record == nil || zip == nil && front != nil ? .all : .withoutZip
    var reader = try Reader(Source(attachment, buffers.input), compression, formats)
    var first = reader.next()
    // To libarchive zeros are a tar without entries. Compressed, they are the beginning of a file.
    if compression != nil, case .success(nil) = first {
      reader = try Reader(Source(attachment, buffers.input), compression, .singleFile)
      first = reader.next()
    }
    var start: Int64 = 0
    if zip == nil, compression == nil, Self.isNothing(first, reader),
      let offset = try Embedded.offset(in: attachment)
    {
      start = offset
      reader = try Reader(Source(attachment, buffers.input, from: offset), nil, .withoutZip)
      first = reader.next()
    }
    defer { unpacking.annotate() }
    // GNU's tar writes what has a kind that it does not know as a file; libarchive does not know the tar then.
    if case .failure = first, reader.format == nil, compression == nil {
      try unpacking.checkTar()
    }
    let isArchive = try unpacking.run(reader, from: first, watching: zip?.record)
    if reader.format == "tar" {
      let bytes = try compression.map { (compression) throws(Outcome) in
        try Reader(Source(attachment, buffers.zip), compression, .singleFile)
      }
      if case .success? = bytes?.next() {} else if bytes != nil { return isArchive }
      try unpacking.checkTarEntries(bytes, from: start)
    } else if reader.isSingleFile, compression == .gzip {
      try unpacking.checkMembers(behind: reader.consumed)
    } else if reader.format == "rar" {
      try unpacking.checkBlocks(from: start)
    } else if reader.format == "iso" {
      try unpacking.checkTrees()
    }
    if unpacking.hasTakenWatched { return isArchive }
    if let fault, front == nil { try unpacking.meetFault(fault, behind: isArchive ? reader : nil) }
    guard let zip else { return isArchive }
    return try unpacking.run(zip.reader, from: zip.first, isBehind: isArchive) || isArchive
  }

  /// Whether libarchive finds no archive, or a tar without entries, which zeros are.
  private static func isNothing(_ first: Result<ArchiveEntry?, Damage>, _ reader: Reader) -> Bool {
    switch first {
    case .success(let entry): entry == nil
    case .failure: reader.format == nil
    }
  }

  /// `nil`: libarchive sees no ZIP there.
  private func open(_ record: EndRecord, _ attachment: Attachment) throws(Outcome) -> (
    reader: Reader, first: Result<ArchiveEntry?, Damage>, record: EndRecord
  )? {
    let marks = try record.marksOfFiles(attachment, most: policy.maxEntries + 1)
    let source = Source(attachment, buffers.zip, end: record.end, marks: marks)
    let reader = try Reader(source, nil, .zipDirectory)
    let first = reader.next()
    return reader.format == nil ? nil : (reader, first, record)
  }
}

private let exported = Exported(Archive.self)

/// The plugin's one exported function.
@c(archive_stage)
public func archive_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
