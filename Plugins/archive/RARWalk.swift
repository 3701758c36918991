import StageKit

/// The blocks of a RAR of version 5 (the RAR 5.0 archive format): programs leave out a block of a kind that they do not know, and
/// libarchive takes it for the end.
struct RARWalk {
  private let attachment: Attachment
  /// Behind the signature.
  private var place: Int64

  private static let signature: [UInt8] = [0x52, 0x61, 0x72, 0x21, 0x1A, 0x07, 0x01, 0x00]
  /// Main header, file, service, encryption, end.
  private static let (known, encryption, end): (ClosedRange<UInt64>, UInt64, UInt64) = (1...5, 4, 5)

  /// `nil`: none begins there.
  init?(_ attachment: Attachment, from start: Int64) throws(Outcome) {
    guard try attachment.read(8, at: start).elementsEqual(Self.signature) else { return nil }
    (self.attachment, place) = (attachment, start + 8)
  }

  /// What is wrong; `nil`: nothing, as far as it was looked at.
  ///
  /// - Parameter most: blocks that are looked at.
  mutating func fault(most: Int64) throws(Outcome) -> String? {
    for _ in 0..<most {
      // A sum, the size of what follows it, the kind, flags, and perhaps two sizes; each number has up to ten bytes.
      var rest = [UInt8](try attachment.read(4 + 5 * 10, at: place)).dropFirst(4)
      let before = rest.count
      guard let size = Self.number(&rest) else { return nil }
      let head = place + 4 + Int64(before - rest.count)
      guard let kind = Self.number(&rest), let flags = Self.number(&rest) else { return nil }
      if kind == Self.end || kind == Self.encryption { return nil }
      guard Self.known.contains(kind) else { return "it has a block of a kind that is not known" }
      if flags & 1 != 0, Self.number(&rest) == nil { return nil }
      let data = flags & 2 != 0 ? Self.number(&rest) : 0
      let (next, isTooFar) = UInt64(head).addingReportingOverflow(size)
      guard let data, !isTooFar, next < UInt64(attachment.size), data < UInt64(attachment.size) else {
        return nil
      }
      place = Int64(next + data)
    }
    return nil
  }

  /// Seven bits a byte, the lowest first. `nil`: it is cut.
  private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 64, by: 7) {
      guard let byte = bytes.popFirst() else { return nil }
      value |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }
}
