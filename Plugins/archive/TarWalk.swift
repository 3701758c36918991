import StageKit

/// Whether all programs see the same entries in a tar. Each follows the headers from one to the next, by the size that a header tells
/// (POSIX.1-2017, pax, "ustar Interchange Format"; "Basic Tar Format" of GNU tar's manual). They differ in which kinds of entries
/// have a content, and in what they do with a kind that they do not know; so one of them may take for a content what is an entry to
/// another.
struct TarWalk {
  private static let block = 512

  /// Hands over the next bytes of the tar, as many as there are; throws the damage that ends it.
  private let read: (Int) throws(Outcome) -> ArraySlice<UInt8>
  /// The size that the next entry has by the records before it; `nil`: what its header says.
  private var told: Int64?
  /// Entries that stand for files, folders, links, devices.
  private(set) var entries: Int64 = 0

  /// - Parameter read: hands over as many bytes as are asked for, at most 64 KiB; fewer at the end.
  init(_ read: @escaping (Int) throws(Outcome) -> ArraySlice<UInt8>) { self.read = read }

  /// What is wrong; `nil`: nothing, as far as it was looked at.
  ///
  /// - Parameter most: headers that are looked at.
  mutating func fault(most: Int64) throws(Outcome) -> String? {
    for _ in 0..<most {
      let header = [UInt8](try read(Self.block))
      // The end is a block of zeros; many a tar ends without one.
      if header.count < Self.block || header.allSatisfy({ $0 == 0 }) { return nil }
      guard Self.isHeader(header) else { return "it has a block that is no header" }
      guard let size = Self.number(header[124..<136]) else { return "a header tells no size" }
      if let fault = try step(over: header, size) { return fault }
    }
    return nil
  }

  private mutating func step(over header: [UInt8], _ size: Int64) throws(Outcome) -> String? {
    switch header[156] {
    case UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "g"):
      return try takeRecords(size, isGlobal: header[156] == UInt8(ascii: "g"))
    case UInt8(ascii: "L"), UInt8(ascii: "K"), UInt8(ascii: "V"):
      try skip(size)
      return nil
    case 0, UInt8(ascii: "0"), UInt8(ascii: "7"):
      // There GNU's headers have the map of a sparse file, which libarchive goes by whatever the kind is.
      if header[257..<265].elementsEqual("ustar  \0".utf8), header[386..<483].contains(where: { $0 != 0 }) {
        return "a file that is none has a map of holes"
      }
      entries += 1
      let content = told ?? size
      told = nil
      let name = header[0..<100].prefix { $0 != 0 }
      if name.last == UInt8(ascii: "/"), content > 0 { return "a folder has content" }
      try skip(content)
      return nil
    case UInt8(ascii: "S"):
      entries += 1
      // More of the map of its holes follows in blocks of their own.
      var isMore = header[482] != 0
      while isMore {
        let map = [UInt8](try read(Self.block))
        guard map.count == Self.block else { return nil }
        isMore = map[504] != 0
      }
      try skip(told ?? size)
      told = nil
      return nil
    case UInt8(ascii: "1")...UInt8(ascii: "6"):
      entries += 1
      if told ?? size != 0 { return "a link, a folder or a device has content" }
      told = nil
      return nil
    default: return "an entry is of a kind that programs read in different ways"
    }
  }

  /// The most bytes of records that are looked at.
  private static let recordsLimit: Int64 = 1 << 20

  /// Takes the size of the next entry out of records of the form `LENGTH KEY=VALUE\n`.
  private mutating func takeRecords(_ size: Int64, isGlobal: Bool) throws(Outcome) -> String? {
    guard size <= Self.recordsLimit else { return "its records are too long" }
    var bytes: [UInt8] = []
    let padded = Int((size + 511) / 512 * 512)
    while bytes.count < padded {
      let more = try read(min(padded - bytes.count, 64 << 10))
      if more.isEmpty { return nil }
      bytes += more
    }
    var rest = bytes[..<Int(size)]
    while !rest.isEmpty, rest.first != 0 {
      let digits = rest.prefix { 0x30...0x39 ~= $0 }
      guard digits.count < 8, let length = Int(String(decoding: digits, as: UTF8.self)),
        length > digits.count,
        length <= rest.count
      else { return "a record tells no length" }
      let record = rest.prefix(length).dropFirst(digits.count)
      if record.starts(with: Array(" size=".utf8)) {
        let value = String(decoding: record.dropFirst(6).dropLast(), as: UTF8.self)
        guard !isGlobal, let number = Int64(value), number >= 0, told ?? number == number else {
          return "its records contradict each other"
        }
        told = number
      }
      rest = rest.dropFirst(length)
    }
    return nil
  }

  private func skip(_ size: Int64) throws(Outcome) {
    var rest = size > Int64.max - 511 ? size : (size + 511) / 512 * 512
    while rest > 0 {
      let count = try read(Int(min(rest, 64 << 10))).count
      if count == 0 { return }
      rest -= Int64(count)
    }
  }

  /// Whether the sum in it is that of its bytes, its own place taken for blanks. Old programs summed them up as signed ones.
  static func isHeader(_ header: [UInt8]) -> Bool {
    guard header.count == block, let told = number(header[148..<156]) else { return false }
    let blank = header[..<148] + [UInt8](repeating: 0x20, count: 8) + header[156...]
    return told == blank.reduce(0) { $0 + Int64($1) }
      || told == blank.reduce(0) { $0 + Int64(Int8(bitPattern: $1)) }
  }

  /// Octal digits, or GNU's form for large numbers: the first bit, and the rest in binary. `nil`: neither, or less than 0.
  private static func number(_ field: ArraySlice<UInt8>) -> Int64? {
    guard let first = field.first else { return nil }
    if first & 0x80 != 0 {
      guard first == 0x80, field.dropFirst().dropLast(8).allSatisfy({ $0 == 0 }) else { return nil }
      let value = field.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Int64(exactly: value)
    }
    let digits = field.drop { $0 == 0x20 }.prefix { 0x30...0x37 ~= $0 }
    // What follows the digits ends the number.
    let end = field[digits.endIndex...]
    guard end.isEmpty || end.first == 0 || end.first == 0x20 else { return nil }
    return digits.reduce(0) { $0 << 3 | Int64($1 - 0x30) }
  }
}
