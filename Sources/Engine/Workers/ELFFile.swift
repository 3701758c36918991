import Glibc

/// The sections of an ELF file (System V ABI, chapter 4) in its 64-bit little-endian form. Every number in the file is
/// checked before it is used.
struct ELFFile {
  struct Section {
    var name: String
    var kind: UInt64
    var offset: UInt64
    var size: UInt64
    /// The index of another section that it refers to.
    var link: Int
  }

  /// Kinds of sections.
  enum Kind: UInt64 {
    case symbols = 2
    case dynamicSymbols = 11
  }

  private(set) var sections: [Section] = []
  private let contents: Descriptors
  /// The most of one section that is read, in bytes: more is no table.
  private let sectionLimit: UInt64

  /// The descriptor, closed with the last copy.
  private final class Descriptors {
    let number: Int32

    init(_ number: Int32) {
      self.number = number
    }

    deinit {
      close(number)
    }
  }

  /// `nil` where the file is no such ELF file.
  init?(_ path: String, sectionLimit: UInt64) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if descriptor < 0 { return nil }
    contents = Descriptors(descriptor)
    self.sectionLimit = sectionLimit
    var header = [UInt8](repeating: 0, count: 64)
    guard pread(descriptor, &header, 64, 0) == 64, header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else {
      return nil
    }
    let count = Int(Self.integer(header, 60, 2))
    let namesIndex = Int(Self.integer(header, 62, 2))
    let table = bytes(Self.integer(header, 40, 8), UInt64(count) * 64)
    guard Self.integer(header, 58, 2) == 64, table.count == count * 64, namesIndex < count else { return nil }
    for index in 0..<count {
      sections.append(
        Section(
          name: "", kind: Self.integer(table, index * 64 + 4, 4),
          offset: Self.integer(table, index * 64 + 24, 8),
          size: Self.integer(table, index * 64 + 32, 8), link: Int(Self.integer(table, index * 64 + 40, 4))))
    }
    let names = bytes(of: sections[namesIndex])
    for index in 0..<count {
      sections[index].name = Self.text(names, Int(Self.integer(table, index * 64, 4)), limit: 256)
    }
  }

  /// Empty if it is larger than the limit, or the file ends before it.
  func bytes(of section: Section) -> [UInt8] { bytes(section.offset, section.size) }

  private func bytes(_ offset: UInt64, _ size: UInt64) -> [UInt8] {
    guard size <= sectionLimit, offset < UInt64(Int64.max) else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    return pread(contents.number, &bytes, bytes.count, off_t(offset)) == bytes.count ? bytes : []
  }

  static func integer(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> UInt64 {
    guard offset >= 0, offset + size <= bytes.count else { return 0 }
    return bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  static func text(_ bytes: [UInt8], _ offset: Int, limit: Int) -> String {
    guard offset >= 0, offset < bytes.count else { return "" }
    return String(decoding: bytes[offset...].prefix(limit).prefix { $0 != 0 }, as: UTF8.self)
  }
}
