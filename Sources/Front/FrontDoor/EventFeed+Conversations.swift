import LedgerPort
import Platform

// Events of conversations: the same text for all members.
extension EventFeed {
  /// The changes of one exchange in a conversation.
  func events(in id: String, at number: Int64) throws -> [Event] {
    guard let change = try ledger.changes(in: id, at: number) else { return [] }
    let view = change.view
    var events: [Event] = []
    let present = view.members.filter(\.isPresent)
    let isDescribed = view.conversation.described == number
    if isDescribed || change.members.contains(where: Self.hasComeOrGone) {
      // A removed member gets the conversation as a former member sees it.
      for member in view.members where member.changed == number && !member.isPresent {
        let text = Self.json { view.write(to: &$0, for: member.user) }
        events.append(
          Event(
            kind: "conversation", audience: .usersAlone([ByteText(member.user)]), full: text, short: text))
      }
      let text = Self.json { view.write(to: &$0, for: nil) }
      events.append(
        Event(
          kind: "conversation", audience: .users(Set(present.map { ByteText($0.user) })), full: text,
          short: text))
    } else if !change.members.isEmpty {
      let text = Self.json { writer in
        writer.member("conversationId", view.conversation.id)
        writer.key("members")
        writer.array { writer in for member in change.members { writer.object { member.write(to: &$0) } } }
      }
      events.append(
        Event(
          kind: "members", audience: .users(Set(present.map { ByteText($0.user) })), full: text, short: text)
      )
    }
    // Settings of a member go to the devices of that member alone.
    for member in view.members where member.configured == number {
      let text = Self.json { view.write(to: &$0, for: member.user) }
      events.append(
        Event(kind: "conversation", audience: .usersAlone([ByteText(member.user)]), full: text, short: text))
    }
    let attachments = try ledger.attachments(
      ofMessages: change.messages.map(\.id), in: view.conversation.id, seenBy: nil)
    let uploads = try ledger.namedUploads(ofMessages: change.messages.map(\.id), in: view.conversation.id)
    for message in change.messages {
      // Former members get deletions alone.
      let readers = view.members.filter {
        $0.sees(message.number) && ($0.isPresent || message.deletedAt != nil)
      }
      .map { ByteText($0.user) }
      func text(isForUser: Bool) -> String {
        Self.json {
          message.write(
            to: &$0, members: view.members, attachments: attachments[message.id] ?? [],
            uploads: uploads[message.id] ?? [], isForUser: isForUser)
        }
      }
      events.append(
        Event(
          kind: "message", audience: .users(Set(readers)), full: text(isForUser: false),
          short: text(isForUser: true)))
    }
    return events
  }

  /// Whether a changed member has joined or left. A change of its numbers alone is a smaller event.
  private static func hasComeOrGone(_ member: Member) -> Bool {
    member.leftNumber != nil || member.deliveredNumber == member.joinedNumber
  }
}
