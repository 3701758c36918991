import StageKit

/// Which items of a HEIC or AVIF are made of which others (ISO/IEC 14496-12, 8.11.12).
///
/// libheif 1.15 follows these references by recursion and without a limit. A ring of them overflows its stack.
struct HEIFReferences {
  private typealias Bytes = Slice<UnsafeRawBufferPointer>

  /// From an item to the items that are decoded with it.
  private var parts: [UInt32: [UInt32]] = [:]
  private var trees: [UInt32: Tree] = [:]

  private struct Tree {
    var levels = 1
    var items = 1
  }

  /// Phones write two levels: a grid and its tiles, or these below a map of tones.
  private static let mostLevels = 8
  /// More than the largest grid has tiles.
  private static let mostItems = 65_536

  /// Why libheif must not read the file; `nil`: it may.
  static func problem(in bytes: UnsafeRawBufferPointer) -> String? {
    var references = HEIFReferences()
    references.read(bytes)
    for item in references.parts.keys {
      guard let tree = references.tree(of: item, level: 1) else {
        return "its items refer to each other in a ring, or over more than \(mostLevels) levels"
      }
      if tree.items > mostItems { return "a picture in it is made of more than \(mostItems) items" }
    }
    return nil
  }

  /// - Returns: `nil` beyond the limit of levels.
  private mutating func tree(of item: UInt32, level: Int) -> Tree? {
    if let known = trees[item] { return known }
    if level > Self.mostLevels { return nil }
    var tree = Tree()
    for part in parts[item] ?? [] {
      guard let below = self.tree(of: part, level: level + 1) else { return nil }
      tree.levels = max(tree.levels, below.levels + 1)
      tree.items = min(tree.items + below.items, Self.mostItems + 1)
    }
    if tree.levels > Self.mostLevels { return nil }
    trees[item] = tree
    return tree
  }

  private mutating func read(_ file: UnsafeRawBufferPointer) {
    for meta in boxes("meta", in: file[...]) {
      for list in boxes("iref", in: meta.dropFirst(4)) where list.count >= 4 {
        let hasLongIds = list[list.startIndex] > 0
        for kind in ["dimg", "auxl"] {
          for entry in boxes(kind, in: list.dropFirst(4)) { add(entry, kind, hasLongIds) }
        }
      }
    }
  }

  private mutating func add(_ entry: Bytes, _ kind: String, _ hasLongIds: Bool) {
    let width = hasLongIds ? 4 : 2
    guard entry.count >= width + 2 else { return }
    let from = Self.number(entry.prefix(width))
    let count = Int(Self.number(entry.dropFirst(width).prefix(2)))
    var rest = entry.dropFirst(width + 2)
    for _ in 0..<count where rest.count >= width {
      let to = Self.number(rest.prefix(width))
      rest = rest.dropFirst(width)
      // A mask is decoded with the picture to which it refers.
      if kind == "dimg" { parts[from, default: []].append(to) } else { parts[to, default: []].append(from) }
    }
  }

  /// The contents of the boxes of a kind.
  private func boxes(_ kind: String, in bytes: Bytes) -> [Bytes] {
    var found: [Bytes] = []
    var rest = bytes
    while rest.count >= 8 {
      var (size, header) = (Int(Self.number(rest.prefix(4))), 8)
      if size == 1, rest.count >= 16 {
        (size, header) = (Int(Self.number(rest.dropFirst(12).prefix(4))), 16)
        if Self.number(rest.dropFirst(8).prefix(4)) != 0 { size = rest.count }
      }
      if size < header || size > rest.count { size = rest.count }
      if rest.dropFirst(4).prefix(4).elementsEqual(kind.utf8) {
        found.append(rest.prefix(size).dropFirst(header))
      }
      rest = rest.dropFirst(size)
    }
    return found
  }

  /// Of up to four bytes, the highest first.
  private static func number(_ bytes: Bytes) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
