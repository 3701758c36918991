/// What a plugin's file tells without being loaded: the compilers it was made with, and the libraries it needs.
///
/// Of ELF (System V ABI, chapters 4 and 5) the 64-bit little-endian form is read.
public struct PluginFile: Sendable {
  /// Each compiler once, as it signed the section `.comment`.
  public private(set) var compilers: [String] = []
  /// As it names them, in its order.
  public private(set) var libraries: [String] = []

  /// `nil` where the file is no such ELF file.
  public init?(_ path: String) {
    guard let file = ELFFile(path, sectionLimit: Self.limit) else { return nil }
    for section in file.sections {
      switch section.name {
      // A section of each name: every other would be read as well, and there may be thousands.
      case ".comment" where compilers.isEmpty: compilers = Self.texts(file.bytes(of: section))
      case ".dynamic" where libraries.isEmpty:
        if file.sections.indices.contains(section.link) {
          libraries = Self.needed(file.bytes(of: section), file.bytes(of: file.sections[section.link]))
        }
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
    let entries = stride(from: 0, to: dynamic.count - 15, by: 16).filter {
      ELFFile.integer(dynamic, $0, 8) == 1
    }
    return entries.prefix(countLimit).map {
      ELFFile.text(
        names, Int(truncatingIfNeeded: ELFFile.integer(dynamic, $0 + 8, 8)), limit: nameLimit)
    }
  }
}
