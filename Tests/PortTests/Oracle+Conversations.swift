import LedgerPort
import ModelLedger

// What must hold of conversations.
extension Oracle {
  mutating func conversations(_ rows: RowImage) {
    var numbers: [String: [Int64]] = [:]
    var clients: [String: Int] = [:]
    var newest: [String: Int64] = [:]
    for (name, message) in rows.messages {
      numbers[message.conversationId, default: []].append(message.number)
      newest[message.conversationId] = max(newest[message.conversationId] ?? 0, message.changed)
      if let client = message.clientId { clients["\(message.senderId) \(client)", default: 0] += 1 }
      expect(message.deletedAt == nil || message.text == nil, "\(name) is deleted, and has a text")
      if message.deletedAt != nil {
        expect(rows.versions[name] == nil, "\(name) is deleted, and has earlier texts")
        expect(!rows.attachmentMessages.contains(name), "\(name) is deleted, and has attachments")
      }
      if let earlier = before.messages[name] {
        expect(earlier.number == message.number, "\(name) has another number than before")
        expect(earlier.deletedAt == nil || message.deletedAt != nil, "\(name) was deleted, and is not")
        expect(
          earlier == message || message.changed == rows.position, "\(name) has changed, and does not say so")
      }
      expect(message.changed <= rows.position, "\(name) will change")
    }
    for name in before.messages.keys { expect(rows.messages[name] != nil, "\(name) is gone") }
    expect(clients.values.allSatisfy { $0 == 1 }, "a message is there twice: \(clients)")
    for (key, (row, pair)) in rows.conversations {
      let own = (numbers[row.id] ?? []).sorted()
      expect(own == Array(1..<(row.lastNumber + 1)), "\(row.id) has \(own) of \(row.lastNumber) messages")
      let members = rows.members[key] ?? []
      judge(members, of: row, pair, rows, earlier: before.members[key] ?? [])
      let ofMembers = members.map { max($0.changed, $0.configured) }.max() ?? 0
      let last = max(newest[row.id] ?? 0, row.described, ofMembers)
      expect(row.changed == last, "\(row.id) changed at \(row.changed), and what is in it at \(last)")
    }
    let pairs = rows.conversations.values.compactMap(\.pair)
    expect(Set(pairs).count == pairs.count, "two people have two direct conversations")
    for name in numbers.keys {
      expect(
        rows.conversations.values.contains { $0.row.id == name }, "\(name) has messages, and is not there")
    }
  }

  private mutating func judge(
    _ members: [Member], of row: Conversation, _ pair: String?, _ rows: RowImage, earlier: [Member]
  ) {
    let present = members.filter(\.isPresent)
    if row.kind == .direct {
      // An erased user leaves, and loses its name.
      expect(members.count == 2 && pair != nil, "\(row.id) is of \(members.count)")
      expect(members.allSatisfy { $0.isPresent || $0.name == nil }, "somebody left \(row.id)")
    }
    if row.kind == .group && !present.isEmpty {
      expect(present.contains { $0.role == .admin }, "\(row.id) has no admin")
    }
    for member in members {
      let name = "\(member.user) in \(row.id)"
      expect(
        0 <= member.readNumber && member.readNumber <= member.deliveredNumber
          && member.deliveredNumber <= row.lastNumber, "\(name) has read \(member)")
      expect(member.leftNumber ?? 0 <= row.lastNumber, "\(name) has left later than now")
      guard var before = earlier.first(where: { $0.user == member.user }) else { continue }
      // A new name of a former member is no change of the member.
      if !member.isPresent { before.name = member.name }
      expect(
        before.readNumber <= member.readNumber && before.deliveredNumber <= member.deliveredNumber,
        "\(name) has read less than before")
      let told = max(member.changed, member.configured)
      expect(before == member || told == rows.position, "\(name) has changed, and does not say so")
    }
    for member in earlier {
      expect(members.contains { $0.user == member.user }, "\(member.user) is forgotten in \(row.id)")
    }
  }
}
