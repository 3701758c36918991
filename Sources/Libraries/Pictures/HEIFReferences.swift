import StageKit

/// The references between the items of a HEIC or AVIF (ISO/IEC 14496-12, 8.11.12).
///
/// libheif 1.15 follows these references by recursion and without a limit. A ring of them overflows its stack.
struct HEIFReferences {
  private typealias Bytes = Slice<UnsafeRawBufferPointer>

  /// For each item, the items to decode with it.
  private var parts: [UInt32: [UInt32]] = [:]
  private var trees: [UInt32: Tree] = [:]
  /// The items that others are made of.
  private var ingredients: Set<UInt32> = []
  /// The items that libheif 1.15 takes for pictures. It ends the process where a picture is made of another item.
  private var pictures: Set<UInt32> = []
  private static let types = ["hvc1", "av01", "grid", "iden", "iovl"]

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
    return references.ingredients.first { !references.pictures.contains($0) }.map {
      "a picture in it is made of item \($0), which is no picture"
    }
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
      for list in boxes("iinf", in: meta.dropFirst(4)) where list.count >= 6 {
        // The number of entries comes first.
        let entries = list.dropFirst(list[list.startIndex] == 0 ? 6 : 8)
        for entry in boxes("infe", in: entries) { addItem(entry) }
      }
      for list in boxes("iref", in: meta.dropFirst(4)) where list.count >= 4 {
        addReferences(list.dropFirst(4), width: list[list.startIndex] > 0 ? 4 : 2)
      }
    }
  }

  private mutating func addItem(_ entry: Bytes) {
    guard let version = entry.first, version >= 2 else { return }
    let width = version == 2 ? 2 : 4
    let (id, rest) = (entry.dropFirst(4).prefix(width), entry.dropFirst(4 + width + 2))
    if Self.types.contains(where: { rest.prefix(4).elementsEqual($0.utf8) }) {
      pictures.insert(Self.number(id))
    }
  }

  /// Like libheif, goes from one entry to the next by what it has read, whatever size the entry says.
  private mutating func addReferences(_ list: Bytes, width: Int) {
    var rest = list
    while rest.count >= 8 + width + 2 {
      let kind = rest.dropFirst(4).prefix(4)
      let header = Self.number(rest.prefix(4)) == 1 ? 16 : 8
      rest = rest.dropFirst(kind.elementsEqual("uuid".utf8) ? header + 16 : header)
      let from = Self.number(rest.prefix(width))
      let count = Int(Self.number(rest.dropFirst(width).prefix(2)))
      rest = rest.dropFirst(width + 2)
      for _ in 0..<count where rest.count >= width {
        let to = Self.number(rest.prefix(width))
        rest = rest.dropFirst(width)
        if kind.elementsEqual("dimg".utf8) {
          parts[from, default: []].append(to)
          ingredients.insert(to)
        }
        // A mask is decoded with the picture to which it refers.
        if kind.elementsEqual("auxl".utf8) { parts[to, default: []].append(from) }
      }
    }
  }

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

  /// A number of up to four bytes, the highest first.
  private static func number(_ bytes: Bytes) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
