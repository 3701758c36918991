import CArchive
import Glibc
import StageKit

/// Damage as libarchive tells it.
struct Damage: Error {
  let message: String
  /// Whether nothing more can be read.
  let isFinal: Bool
  /// Whether some entry needs a password.
  let isEncrypted: Bool
}

/// An archive that libarchive reads from a content.
final class Reader {
  private let archive: OpaquePointer
  private let source: Source
  private let compression: Compression?

  /// Which formats are looked for.
  enum Formats {
    case all, withoutZip
    /// A ZIP, by the directory at its end.
    case zipDirectory
    /// No archive in what is compressed.
    case singleFile
  }

  init(_ source: Source, _ compression: Compression?, _ formats: Formats = .all) throws(Outcome) {
    guard let archive = archive_read_new() else {
      throw .fail("out-of-memory", "libarchive does not start: there is no memory for it")
    }
    self.archive = archive
    self.source = source
    self.compression = compression
    try prepare(formats)
    source.attach(to: archive)
    // What is wrong with the content, the first entry tells again.
    archive_read_open1(archive)
  }

  deinit {
    archive_read_free(archive)
  }

  /// Formats and compressions that libarchive reads by itself. For others it starts programs; none of them is asked for.
  private func prepare(_ wanted: Formats) throws(Outcome) {
    if let compression {
      // A warning says that this libarchive was built without the library, and would start a program.
      try demand(archive_read_append_filter(archive, compression.filter), compression.rawValue)
      if wanted != .singleFile {
        try demand(archive_read_support_format_tar(archive), "tar")
        try demand(archive_read_support_format_cpio(archive), "cpio")
      }
      try demand(archive_read_support_format_raw(archive), "raw")
      return
    }
    if wanted == .zipDirectory {
      return try demand(archive_read_support_format_zip_seekable(archive), "zip")
    }
    let formats: [(String, (OpaquePointer?) -> Int32)] = [
      ("zip", archive_read_support_format_zip), ("tar", archive_read_support_format_tar),
      ("7z", archive_read_support_format_7zip), ("rar", archive_read_support_format_rar),
      ("rar", archive_read_support_format_rar5), ("cpio", archive_read_support_format_cpio),
      ("ar", archive_read_support_format_ar), ("iso", archive_read_support_format_iso9660),
    ]
    for (name, support) in formats where wanted == .all || name != "zip" {
      try demand(support(archive), name)
    }
  }

  private func demand(_ result: Int32, _ what: String) throws(Outcome) {
    guard result == ARCHIVE_OK else {
      throw .fail("archive-unavailable", "libarchive does not read \(what): \(message)")
    }
  }

  /// `nil`: no format is known yet, or none fits.
  var format: String? {
    switch archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK {
    case ARCHIVE_FORMAT_ZIP: "zip"
    case ARCHIVE_FORMAT_TAR: "tar"
    case ARCHIVE_FORMAT_7ZIP: "7z"
    case ARCHIVE_FORMAT_RAR, ARCHIVE_FORMAT_RAR_V5: "rar"
    case ARCHIVE_FORMAT_CPIO: "cpio"
    case ARCHIVE_FORMAT_AR: "ar"
    case ARCHIVE_FORMAT_ISO9660: "iso"
    case ARCHIVE_FORMAT_RAW: "file"
    default: nil
    }
  }

  /// Whether it is no archive but one file that is compressed.
  var isSingleFile: Bool { archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK == ARCHIVE_FORMAT_RAW }

  /// Bytes of the content that were unpacked.
  var consumed: Int64 { archive_filter_bytes(archive, -1) }

  var compressionName: String? { compression?.rawValue }

  /// The next entry; `nil`: there are no more.
  func next() -> Result<ArchiveEntry?, Damage> {
    var entry: OpaquePointer?
    let result = archive_read_next_header(archive, &entry)
    switch result {
    case ARCHIVE_EOF: return .success(nil)
    // After a warning, such as of a name that could not be converted, the entry can be used.
    case ARCHIVE_OK, ARCHIVE_WARN: return .success(entry.map { ArchiveEntry($0) })
    default: return .failure(damage(result))
    }
  }

  /// The next bytes of the entry's content; holes are zeros. 0: the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Result<Int, Damage> {
    let count = archive_read_data(archive, buffer.baseAddress, buffer.count)
    return count < 0 ? .failure(damage(Int32(count))) : .success(count)
  }

  /// The name of the one file that is compressed.
  func innerName() throws(Outcome) -> String {
    try compression?.innerName(of: source.attachment) ?? source.attachment.fileName
  }

  /// What has nothing to do with the archive: the system, memory, a limit.
  func checkSource() throws(Outcome) {
    if let failure = source.failure { throw failure }
    if archive_errno(archive) == ENOMEM {
      throw .fail("out-of-memory", "unpacking takes more memory: \(message)")
    }
  }

  /// Whether what is skipped must be unpacked all the same: libarchive would do so in one call, without end.
  var unpacksWhatIsSkipped: Bool {
    if compression != nil { return true }
    return ["7z", "rar"].contains(format)
  }

  private func damage(_ result: Int32) -> Damage {
    // Without a format, libarchive 3.6 answers this question with a crash.
    let isEncrypted = format != nil && archive_read_has_encrypted_entries(archive) > 0
    return Damage(message: message, isFinal: result <= ARCHIVE_FATAL, isEncrypted: isEncrypted)
  }

  private var message: String {
    guard let text = archive_error_string(archive) else { return "no reason given" }
    let bytes = UnsafeBufferPointer(
      start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: min(strlen(text), 300))
    return entryName(bytes.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 })
  }
}

/// What an archive says of one of its entries. Valid until the next.
struct ArchiveEntry {
  private let raw: OpaquePointer

  /// Bytes of a path that are looked at; the host takes 255.
  private static let longestPath = 4096

  init(_ raw: OpaquePointer) {
    self.raw = raw
  }

  /// Whether it is a file with a content of its own: a hard link has that of another entry. GNU's `ar` writes no kind.
  var isFile: Bool {
    sluice_entry_is_file(raw) != 0 && (archive_entry_hardlink(raw) == nil || (size ?? 0) > 0)
  }

  /// Whether it leads to another name.
  var isLink: Bool { sluice_entry_is_link(raw) != 0 || archive_entry_hardlink(raw) != nil }

  /// Whether what a link has may be the name it leads to. Programs write what cannot be one as a file.
  var hasName: Bool {
    guard (size ?? 0) < Int64(Self.longestPath),
      let target = sluice_entry_is_link(raw) != 0 ? archive_entry_symlink(raw) : archive_entry_hardlink(raw)
    else { return false }
    let bytes = UnsafeRawBufferPointer(start: target, count: strlen(target))
    return bytes.count < Self.longestPath && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  var isEncrypted: Bool { archive_entry_is_encrypted(raw) != 0 }

  /// As it claims; `nil`: it does not.
  var size: Int64? { archive_entry_size_is_set(raw) != 0 ? archive_entry_size(raw) : nil }

  /// Its path as the archive has it: hostile. `nil`: none that can be given.
  var path: String? {
    guard let path = archive_entry_pathname(raw) ?? archive_entry_pathname_utf8(raw) else { return nil }
    let bytes = UnsafeRawPointer(path).assumingMemoryBound(to: UInt8.self)
    return entryName(UnsafeBufferPointer(start: bytes, count: min(strlen(path), Self.longestPath)))
  }
}
