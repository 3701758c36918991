import Glibc

/// What a plugin's file tells without being loaded: the compilers it was made with, and the libraries it needs.
///
/// Of ELF (System V ABI, chapters 4 and 5) the 64-bit little-endian form is read. Every number in the file is checked before
/// it is used.
public struct PluginFile: Sendable {
  /// Each compiler once, as it signed the section `.comment`.
  public private(set) var compilers: [String] = []
  /// As it names them, in its order.
  public private(set) var libraries: [String] = []

  /// `nil` where the file is no such ELF file.
  public init?(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: 64)
    guard pread(descriptor, &header, 64, 0) == 64, header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else {
      return nil
    }
    let count = Int(Self.integer(header, 60, 2))
    let namesIndex = Int(Self.integer(header, 62, 2))
    let table = Self.bytes(descriptor, Self.integer(header, 40, 8), UInt64(count) * 64)
    guard Self.integer(header, 58, 2) == 64, table.count == count * 64, namesIndex < count else { return nil }
    func section(_ index: Int) -> [UInt8] {
      Self.bytes(
        descriptor, Self.integer(table, index * 64 + 24, 8), Self.integer(table, index * 64 + 32, 8))
    }
    let names = section(namesIndex)
    for index in 0..<count {
      switch Self.text(names, Int(Self.integer(table, index * 64, 4))) {
      // A section of each name: every other would be read as well, and there may be thousands.
      case ".comment" where compilers.isEmpty: compilers = Self.texts(section(index))
      case ".dynamic" where libraries.isEmpty:
        let link = Int(Self.integer(table, index * 64 + 40, 4))
        if link < count { libraries = Self.needed(section(index), section(link)) }
      default: break
      }
    }
  }

  /// How the Swift runtime comes with it; `nil`: it is not written in Swift, as far as can be seen.
  public var swiftRuntime: String? {
    if libraries.contains("libswiftCore.so") { return "shared with sluice: build it with the same Swift" }
    return compilers.contains { $0.contains("swift") } ? "its own" : nil
  }

  // MARK: Bytes

  /// The most of one section that is read: more is no table.
  private static let limit: UInt64 = 1 << 20
  /// The longest name, in bytes: that of a path.
  private static let nameLimit = 4096
  /// Entries of a list that are told. Each may name all of a section, so that a small file could fill memory.
  private static let countLimit = 256

  private static func bytes(_ descriptor: Int32, _ offset: UInt64, _ size: UInt64) -> [UInt8] {
    guard size <= limit, offset < UInt64(Int64.max) else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    return pread(descriptor, &bytes, bytes.count, off_t(offset)) == bytes.count ? bytes : []
  }

  private static func integer(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> UInt64 {
    guard offset >= 0, offset + size <= bytes.count else { return 0 }
    return bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func text(_ bytes: [UInt8], _ offset: Int) -> String {
    guard offset >= 0, offset < bytes.count else { return "" }
    return String(decoding: bytes[offset...].prefix(nameLimit).prefix { $0 != 0 }, as: UTF8.self)
  }

  private static func texts(_ bytes: [UInt8]) -> [String] {
    var seen: Set<String> = []
    var texts: [String] = []
    for piece in bytes.split(separator: 0) where texts.count < countLimit {
      let text = String(decoding: piece.prefix(nameLimit), as: UTF8.self)
      if seen.insert(text).inserted { texts.append(text) }
    }
    return texts
  }

  /// The entries DT_NEEDED, 1.
  private static func needed(_ dynamic: [UInt8], _ names: [UInt8]) -> [String] {
    let entries = stride(from: 0, to: dynamic.count - 15, by: 16).filter { integer(dynamic, $0, 8) == 1 }
    return entries.prefix(countLimit).map {
      text(names, Int(truncatingIfNeeded: integer(dynamic, $0 + 8, 8)))
    }
  }
}
