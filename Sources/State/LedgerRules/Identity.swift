import LedgerPort
import Pipeline
import Platform

// What makes a row the same as another one, whichever coordinator makes it, and whenever.
extension IntakeItem {
  /// What makes an attachment this one, the same file or link under the same message.
  ///
  /// - Parameter transfer: the identity of what fetches its link; empty: it has none.
  package func identity(transfer: [UInt8] = [], _ hash: SHA256) -> [UInt8] {
    if link == nil {
      if isMaildirMessage, let message = MaildirPath(source) { return identity(of: message, hash) }
      if let message = MboxPath(source) { return identity(of: message, hash) }
      return attachmentSource.identity(conversationId: conversationId, messageId: messageId, hash)
    }
    var values = HashedValues()
    values.add("link")
    values.add(transfer)
    return AttachmentIdentity.make(
      values, folder: [], name: transfer, conversationId: conversationId, messageId: messageId, hash)
  }

  /// A message stays the same under each name that it gets, and as long as its header is not read: its id is not of it.
  private func identity(of message: MaildirPath, _ hash: SHA256) -> [UInt8] {
    var values = HashedValues()
    values.add("maildir")
    values.add(message.maildir)
    values.add(message.unique)
    values.add(sourceSize)
    return AttachmentIdentity.make(
      values, folder: message.maildir, name: message.unique, conversationId: conversationId, messageId: nil,
      hash)
  }

  /// A message stays the same wherever it lies in its mailbox: others are taken out before it.
  private func identity(of message: MboxPath, _ hash: SHA256) -> [UInt8] {
    var values = HashedValues()
    values.add("mbox")
    values.add(message.file)
    values.add(message.sha256)
    return AttachmentIdentity.make(
      values, folder: message.file, name: message.sha256, conversationId: conversationId, messageId: nil, hash
    )
  }

  /// Its path, without what changes while it stays the same.
  public var lastingPath: [UInt8] {
    if isMaildirMessage, let message = MaildirPath(source) {
      return message.maildir + [UInt8(ascii: "/")] + message.unique
    }
    return MboxPath(source).map { $0.file + Array("//\(Hexadecimal.text($0.sha256))".utf8) } ?? source
  }
}

extension AttachmentSource {
  /// That of a file. A link's follows from what fetches it.
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
    case .link(let transfer, let name, _):
      values.add(name)
      values.add(transfer)
    case .object(let path, _, _): values.add(path)
    }
    let path = path
    let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? -1
    return AttachmentIdentity.make(
      values, folder: path[..<(slash + 1)], name: path[(slash + 1)...], conversationId: conversationId,
      messageId: messageId, hash)
  }
}

extension NewChild {
  /// What makes each this one: the same content under the same name, taken out of the same attachment, is the same child. One that
  /// is there several times is told apart by how often it came before.
  package static func identities(
    of children: [NewChild], parent: AttachmentOrigin, _ hash: SHA256
  ) -> [[UInt8]] {
    var seen: [[UInt8]: Int] = [:]
    return children.map { child in
      let place = Array("child/\(parent.id)/\(Hexadecimal.text(child.sha256))/\(child.fileName)".utf8)
      let number = seen[place, default: 0]
      seen[place] = number + 1
      return AttachmentSource.file(
        host: nil, path: place, size: child.sizeBytes, modified: Int64(number), folderDevice: nil
      ).identity(conversationId: parent.id, messageId: nil, hash)
    }
  }
}

/// 32 bytes: four of a hash of the folder and the conversation, the first twelve of the file's name, sixteen of a SHA-256 over all.
///
/// So files that are found one after the other are neighbours in the index. By the hash alone each would change another page of
/// it, which halves the rate at which a million are taken in.
private enum AttachmentIdentity {
  static func make(
    _ values: consuming HashedValues, folder: some Collection<UInt8>, name: some Collection<UInt8>,
    conversationId: String, messageId: String?, _ hash: SHA256
  ) -> [UInt8] {
    values.add(conversationId)
    values.add(messageId ?? "")
    let all = hash.digest(of: values)
    var place: UInt32 = 2_166_136_261  // FNV-1a: it only keeps neighbours together
    for byte in folder { place = (place ^ UInt32(byte)) &* 16_777_619 }
    for byte in conversationId.utf8 { place = (place ^ UInt32(byte)) &* 16_777_619 }
    var identity = [UInt8](repeating: 0, count: 32)
    for index in 0..<4 { identity[index] = UInt8(truncatingIfNeeded: place >> UInt32(24 - 8 * index)) }
    for (index, byte) in name.prefix(12).enumerated() { identity[4 + index] = byte }
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

  /// - Parameter told: the types of the events that it has told before.
  package init(_ attachment: String, told: [String] = []) {
    self.attachment = attachment
    for type in told { _ = next(type) }
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
