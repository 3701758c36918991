/// The name of an entry as text: UTF-8 as it is; a byte that is part of none is written `\xFF`.
func entryName(_ bytes: some Sequence<UInt8>) -> String {
  var name = String.UnicodeScalarView()
  var bytes = Array(bytes)[...]
  while !bytes.isEmpty {
    var rest = bytes.makeIterator()
    var parser = Unicode.UTF8.ForwardParser()
    if case .valid(let units) = parser.parseScalar(from: &rest) {
      name.append(Unicode.UTF8.decode(units))
      bytes = bytes.dropFirst(units.count)
    } else {
      let byte = bytes.removeFirst()
      name.append(
        contentsOf: "\\x\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".unicodeScalars)
    }
  }
  return String(name)
}

/// A pattern for names of files, in which `*` is any text and `?` any character; upper and lower case of ASCII are one.
struct NamePattern {
  private let pattern: [UInt8]
  private let isForPaths: Bool

  init(_ text: String) {
    pattern = text.utf8.map(Self.lower)
    isForPaths = text.utf8.contains(UInt8(ascii: "/"))
  }

  /// Whether it fits the last part of a path; with `/` in it, the whole path.
  func matches(_ path: String) -> Bool {
    var name = path.unicodeScalars.map(Self.lower)[...]
    if !isForPaths, let slash = name.lastIndex(of: "/") { name = name[(slash + 1)...] }
    return matches(name)
  }

  /// Goes back to the last `*` only: the time is bounded by the product of both lengths.
  private func matches(_ name: ArraySlice<Unicode.Scalar>) -> Bool {
    let pattern = Array(String(decoding: pattern, as: UTF8.self).unicodeScalars)
    var position = name.startIndex
    var place = 0
    var star: (place: Int, position: Int)?
    while position < name.endIndex {
      if place < pattern.count, pattern[place] == "*" {
        star = (place, position)
        place += 1
      } else if place < pattern.count, pattern[place] == "?" || pattern[place] == name[position] {
        place += 1
        position += 1
      } else if let last = star {
        star = (last.place, last.position + 1)
        place = last.place + 1
        position = last.position + 1
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == "*" }
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }

  private static func lower(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    scalar.isASCII ? Unicode.Scalar(lower(UInt8(scalar.value))) : scalar
  }
}
