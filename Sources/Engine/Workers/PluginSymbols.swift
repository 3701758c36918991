import Glibc

/// The functions of a plugin's file, from its table of symbols. Every number in the file is checked before it is used.
public struct PluginSymbols {
  private var functions: [(start: UInt64, size: UInt64, name: Int)] = []
  private var names: [UInt8] = []

  /// The largest table that is read, in bytes: those of large C++ libraries have some megabytes.
  private static let limit: UInt64 = 64 << 20
  /// The longest name that is taken, in bytes.
  private static let nameLimit = 1000

  /// `nil`: it is no 64-bit ELF file, or has no such table.
  public init?(_ path: String) {
    guard let file = ELFFile(path, sectionLimit: Self.limit) else { return nil }
    // `.symtab` has the functions that are not exported as well, unless it was stripped.
    for kind in [ELFFile.Kind.symbols, .dynamicSymbols] {
      guard let table = file.sections.first(where: { $0.kind == kind.rawValue }),
        file.sections.indices.contains(table.link)
      else { continue }
      names = file.bytes(of: file.sections[table.link])
      read(file.bytes(of: table))
      if !functions.isEmpty { return }
    }
    return nil
  }

  private mutating func read(_ table: [UInt8]) {
    for place in stride(from: 0, to: table.count - 23, by: 24) {
      // Functions that are defined here.
      guard table[place + 4] & 0xF == 2, ELFFile.integer(table, place + 6, 2) != 0 else { continue }
      functions.append(
        (
          ELFFile.integer(table, place + 8, 8), ELFFile.integer(table, place + 16, 8),
          Int(ELFFile.integer(table, place, 4))
        ))
    }
  }

  /// The function that has the instruction at an offset.
  public func function(at offset: UInt64) -> String? {
    let function = functions.first { $0.start <= offset && offset - $0.start < max($0.size, 1) }
    let name = function.map { ELFFile.text(names, $0.name, limit: Self.nameLimit) } ?? ""
    return name.isEmpty ? nil : name
  }
}
