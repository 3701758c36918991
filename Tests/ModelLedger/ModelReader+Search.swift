import LedgerPort
import LedgerRules
import Platform

// The search, without an index: words are letters and digits of ASCII.
extension ModelReader {
  package func search(
    _ query: SearchQuery, for user: String?, after mark: PageMark?, limit: Int
  ) -> Page<SearchHit> {
    let start = mark.flatMap { Int64($0.text) } ?? .max
    var page = Page<SearchHit>([], next: nil)
    var last: Int64?
    for key in rows.documents.keys.sorted(by: >) where key < start {
      guard let (message, words) = rows.found(key), sees(message, user),
        query.conversationId.map({ ByteText($0) == ByteText(message.conversationId) }) ?? true
      else { continue }
      guard query.phrases.allSatisfy({ phrase in words.contains { Self.has(phrase, $0) } }) else { continue }
      if page.rows.count == limit {
        page.next = last.map { PageMark("\($0)") }
        break
      }
      last = key
      guard query.senderId.map({ ByteText($0) == ByteText(message.senderId) }) ?? true,
        message.createdAt >= query.after ?? .min, message.createdAt < query.before ?? .max,
        query.kinds.allSatisfy({ has($0, message) })
      else { continue }
      page.rows.append(SearchHit(in: message.conversationId, message.number))
    }
    return page
  }

  private func sees(_ message: Message, _ user: String?) -> Bool {
    guard let user else { return true }
    guard
      let conversation = rows.conversations.values.first(where: { $0.row.id == message.conversationId }),
      let member = conversation.members[ByteText(user)]
    else { return false }
    return member.sees(message.number) && message.changed <= member.left?.change ?? .max
  }

  private func has(_ kind: String, _ message: Message) -> Bool {
    if kind == "link" { return message.text?.contains("http://") == true }
    return rows.attachments.values.contains { attachment in
      attachment.origin.conversationId == message.conversationId
        && attachment.origin.messageId == message.id
        && (kind == "file" || attachment.outcome.mediaType == "application/\(kind)"
          || attachment.origin.fileName.hasSuffix(".\(kind)"))
    }
  }

  /// Whether a field has the words of a phrase, next to each other.
  private static func has(_ phrase: SearchQuery.Phrase, _ field: [String]) -> Bool {
    let words = ModelRows.words(phrase.text)
    return field.indices.contains { first in
      guard first + words.count <= field.count else { return false }
      return words.indices.allSatisfy { index in
        let isBeginning = phrase.isPrefix && index == words.count - 1
        let word = field[first + index]
        return isBeginning ? word.hasPrefix(words[index]) : word == words[index]
      }
    }
  }
}

extension ModelRows {
  /// The words of a message's text, and of the names and texts of its attachments.
  struct Document {
    var name: MessageName
    var fields: [[String]]
  }

  static func words(_ text: String) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }

  func found(_ key: Int64) -> (LedgerPort.Message, [[String]])? {
    guard let document = documents[key], let message = messages[document.name]?.written else { return nil }
    return (message, document.fields)
  }

  mutating func makeFindable(_ message: LedgerPort.Message) {
    let name = MessageName(conversation: message.conversationId, message: message.id)
    let own = attachments.sorted { $0.key < $1.key }.map(\.value).filter {
      $0.origin.conversationId == message.conversationId && $0.origin.messageId == message.id
    }
    let names = own.map(\.origin.fileName)
    let contents = own.filter { $0.outcome.status == .completed }.flatMap(\.outcome.derived)
      .compactMap { texts[$0.sha256] }
    let isFound = message.deletedAt == nil && (message.text != nil || !(names + contents).joined().isEmpty)
    let known = documents.first { $0.value.name == name }?.key
    guard isFound else {
      if let known { documents[known] = nil }
      return
    }
    documents[known ?? Self.next(documents.keys)] = Document(
      name: name,
      fields: [Self.words(message.text ?? ""), names.flatMap(Self.words), contents.flatMap(Self.words)])
  }
}
