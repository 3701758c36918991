/// A PDF as a list of objects, and how to write it.
struct Draft {
  enum References {
    /// A table with correct offsets.
    case table
    /// A cross-reference stream that is not compressed.
    case stream
    /// None, so that poppler has to repair it.
    case missing
  }

  /// By number, from 1. The last ones, `compressed` of them, are in an object stream.
  var objects = [
    "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
  ]
  var compressed = 0
  var trailer = ""
  var references = References.table

  /// What stands between `obj` and the data of the object stream; `FIRST`, `COUNT` and `LENGTH` are filled in.
  var opening = "\n<</Type/ObjStm/N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode>>\nstream\n"
  var pack: ([UInt8]) -> [UInt8] = zlib

  var bytes: [UInt8] {
    var bytes = Array("%PDF-1.7\n".utf8)
    var entries = [(0, 0, 0)]
    for (number, object) in zip(1..., objects.dropLast(compressed)) {
      entries.append((1, bytes.count, 0))
      bytes += "\(number) 0 obj\n\(object)\nendobj\n".utf8
    }
    if compressed > 0 {
      let number = objects.count + 1
      for index in 0..<compressed { entries.append((2, number, index)) }
      entries.append((1, bytes.count, 0))
      bytes += Array("\(number) 0 obj".utf8) + objectStream + Array("\nendstream\nendobj\n".utf8)
    }
    return bytes + end(entries, at: bytes.count)
  }

  private var objectStream: [UInt8] {
    var (head, body) = ("", "")
    for (number, object) in zip(1..., objects).suffix(compressed) {
      head += "\(number) \(body.utf8.count) "
      body += object + " "
    }
    let data = pack(Array((head + body).utf8))
    var opening = self.opening
    for (word, value) in [("COUNT", compressed), ("FIRST", head.utf8.count), ("LENGTH", data.count)] {
      if let range = opening.firstRange(of: word) { opening.replaceSubrange(range, with: "\(value)") }
    }
    return Array(opening.utf8) + data
  }

  private func end(_ entries: [(Int, Int, Int)], at offset: Int) -> [UInt8] {
    let common = "/Root 1 0 R\(trailer)"
    let close = "startxref\n\(offset)\n%%EOF\n"
    switch references {
    case .missing: return Array("trailer<<\(common)>>\n".utf8)
    case .table:
      let lines = entries.map { kind, offset, _ in
        let digits = String(offset)
        return String(repeating: "0", count: 10 - digits.count) + digits
          + (kind == 0 ? " 65535 f \n" : " 00000 n \n")
      }
      return Array(
        "xref\n0 \(entries.count)\n\(lines.joined())trailer<</Size \(entries.count)\(common)>>\n\(close)".utf8
      )
    case .stream:
      let data = entries.flatMap { kind, place, index in
        [kind, place >> 8, place, index].map { UInt8(truncatingIfNeeded: $0) }
      }
      let dictionary = "<</Type/XRef/W[1 2 1]/Size \(entries.count)/Length \(data.count)\(common)>>"
      return Array("\(entries.count) 0 obj\(dictionary)stream\n".utf8) + data
        + Array("\nendstream\nendobj\n\(close)".utf8)
    }
  }
}

/// The data in zlib's format (RFC 1950): each byte as a literal of the fixed code (RFC 1951, 3.2.6), so that no text
/// in it can be read.
func zlib(_ data: [UInt8]) -> [UInt8] {
  var packed: [UInt8] = [0x78, 0x01]
  var (byte, filled): (UInt8, UInt8) = (0, 0)
  func put(_ bits: Int, _ count: Int) {
    for bit in (0..<count).reversed() {
      byte |= UInt8(bits >> bit & 1) << filled
      filled = (filled + 1) & 7
      if filled == 0 {
        packed.append(byte)
        byte = 0
      }
    }
  }
  put(0b110, 3)  // the last block, in the fixed code
  for value in data.map(Int.init) {
    if value < 144 { put(0x30 + value, 8) } else { put(0x190 + value - 144, 9) }
  }
  put(0, 7)
  if filled > 0 { packed.append(byte) }
  return packed + checksum(data)
}

/// Adler-32.
private func checksum(_ data: [UInt8]) -> [UInt8] {
  var (low, high): (UInt32, UInt32) = (1, 0)
  for byte in data {
    low = (low + UInt32(byte)) % 65521
    high = (high + low) % 65521
  }
  return [high >> 8, high, low >> 8, low].map { UInt8($0 & 0xFF) }
}
