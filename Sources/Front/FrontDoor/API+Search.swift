import FrontWire
import LedgerPort
import Platform

// The search among messages.
extension API {
  private static let hits = (most: 50, usual: 20)

  func search(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    let given = try ListQuery(request, .search, most: Self.hits.most, usual: Self.hits.usual)
    guard let typed = given.values["q"] else { throw Self.invalid("q", "says what to look for") }
    var query: SearchQuery
    do throws(SearchQuery.Fault) {
      query = try SearchQuery(typed, now: Clock.now())
    } catch {
      throw Self.invalid("q", error.message)
    }
    if let order: [SearchQuery.Order] = try given.cases("order"), let one = order.first { query.order = one }
    let user = token.role == .user ? token.name : nil
    return .search(by: ByteText(token.name)) { [query] api in
      .reply(try api.search(query, user, after: given.mark, limit: given.limit))
    }
  }

  /// - Parameter user: `nil`: all conversations.
  private func search(_ query: SearchQuery, _ user: String?, after mark: PageMark?, limit: Int) throws
    -> FrontReply
  {
    try ledger.snapshot {
      let page = try marked(mark) { () throws(LedgerError) in
        try ledger.search(query, for: user, after: mark, limit: limit)
      }
      let rows = try page.rows.compactMap { try text($0, user) }
      return Self.json(
        Self.text { writer in
          writer.key("hits")
          writer.array { writer in for row in rows { writer.raw(row) } }
          writer.member("next", page.next?.text)
        })
    }
  }

  private func text(_ hit: SearchHit, _ user: String?) throws -> String? {
    guard let view = try ledger.membership(of: hit.conversationId, for: user) else { return nil }
    let own = view.member(user)
    guard let message = try ledger.message(hit.number, in: view.conversation, seenBy: own) else { return nil }
    let told = try text([message], view, own, isForUser: user != nil)[0]
    return Self.text { writer in
      writer.key("message")
      writer.raw(told)
      writer.key("excerpts")
      writer.array { writer in for excerpt in hit.excerpts { excerpt.write(to: &writer) } }
    }
  }
}
