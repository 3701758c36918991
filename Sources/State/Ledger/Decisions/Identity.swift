import Platform

// What makes a row the same as another one, whichever coordinator makes it, and whenever.
extension AttachmentSource {
  /// What makes an attachment this one, the same file under the same message, in 32 bytes: four of a hash of the folder and the
  /// conversation, the first twelve of the file's name, sixteen of a SHA-256 over all.
  ///
  /// So files that are found one after the other are neighbours in the index. By the hash alone each would change another page of
  /// it, which halves the rate at which a million are taken in.
  ///
  /// - Parameter messageId: `nil`: the file is its own message.
  package func identity(conversationId: String, messageId: String?, _ hash: SHA256) -> [UInt8] {
    var values = HashedValues()
    switch self {
    case .file(let host, let path, let size, let modified, _):
      values.add(host ?? "")
      values.add(path)
      values.add(size)
      values.add(modified)
    }
    values.add(conversationId)
    values.add(messageId ?? "")
    let all = hash.digest(of: values)
    let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? -1
    var place: UInt32 = 2_166_136_261  // FNV-1a: it only keeps neighbours together
    for byte in path[..<(slash + 1)] { place = (place ^ UInt32(byte)) &* 16_777_619 }
    for byte in conversationId.utf8 { place = (place ^ UInt32(byte)) &* 16_777_619 }
    var identity = [UInt8](repeating: 0, count: 32)
    for index in 0..<4 { identity[index] = UInt8(truncatingIfNeeded: place >> UInt32(24 - 8 * index)) }
    for (index, byte) in path[(slash + 1)...].prefix(12).enumerated() { identity[4 + index] = byte }
    for index in 0..<16 { identity[16 + index] = all[index] }
    return identity
  }
}

/// The ids of the deliveries of one attachment's events. They follow from what they are for: after a ledger was restored from a
/// backup, the same event has the same id, and a receiver knows it.
package struct DeliveryIds {
  private let attachment: String
  /// How many events of a type there were.
  private var counts: [(type: String, count: Int64)] = []

  package init(_ attachment: String) {
    self.attachment = attachment
  }

  /// Another event of a type. Returns which of them it is.
  package mutating func next(_ type: String) -> Int64 {
    if let index = counts.firstIndex(where: { $0.type == type }) {
      counts[index].count += 1
      return counts[index].count
    }
    counts.append((type, 0))
    return 0
  }

  /// The id of an event for a recipient, on every channel: a UUID of version 8 (RFC 9562, section 5.8).
  package func id(_ type: String, _ ordinal: Int64, for recipient: String, _ hash: SHA256) -> String {
    var values = HashedValues()
    values.add(attachment)
    values.add(type)
    values.add(ordinal)
    values.add(recipient)
    return UUIDText.version8(hash.digest(of: values))
  }
}
