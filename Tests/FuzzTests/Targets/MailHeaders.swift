import Manifest

extension FuzzTarget {
  /// The header of a mail.
  static let mailHeader = FuzzTarget(name: "mail-header") { bytes in
    let header = MessageHeader(bytes)
    let addresses = [header.sender].compactMap(\.self) + header.participants
    for address in addresses {
      let utf8 = Array(address.utf8)
      try demand((3...254).contains(utf8.count), "the address '\(address)'")
      try demand(utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in '\(address)'")
      let at = utf8.lastIndex(of: UInt8(ascii: "@")) ?? 0
      try demand(at > 0 && at < utf8.count - 1, "'\(address)' has a part on each side")
      try demand(!utf8[at...].contains { "<>(), \"".utf8.contains($0) }, "the domain of '\(address)'")
      // What was found is found again where it stands alone.
      let again = MessageHeader(Array("From: \(address)\n\n".utf8)).sender
      try demand(again.map { Array($0.utf8) } == utf8, "'\(address)' and then '\(again ?? "none")'")
    }
    try demand(header.participants.count <= MessageHeader.participantLimit, "too many participants")
    try demand(
      Set(header.participants.map { Array($0.utf8) }).count == header.participants.count, "one stands twice")
    try demand(header.messageId?.isEmpty != true, "an empty id")
  }
}
