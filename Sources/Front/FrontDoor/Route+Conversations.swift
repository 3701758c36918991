import LedgerPort
import Pipeline

// Conversations and their messages.
extension Route {
  enum Conversations {
    static let conversations = Facts(
      messages: "GET", "/v1/conversations", known, "the conversations; of a user, its own",
      parameters: paging, answers: [(200, answer("Conversations", "a page of them"))])
    static let beginConversation = Facts(
      messages: "POST", "/v1/conversations", known,
      "begin a conversation, or find the existing one",
      answers: [
        (200, answer("Conversation", "it was there")), (201, answer("Conversation", "it is new")),
      ],
      body: json(
        #""kind":{"enum":["direct","group",null]},"members":\#(textsSchema),"name":\#(optionalText),"#
          + #""history":{"enum":["all","joined",null]},"id":\#(optionalText)"#, required: ["members"]))
    static let conversation = Facts(
      messages: "GET", "/v1/conversations/{id}", seen, "a conversation, with its members",
      answers: [(200, answer("Conversation", "it"))])
    static let renameConversation = Facts(
      messages: "PATCH", "/v1/conversations/{id}", senders,
      "give a group another name, or have new messages expire", answers: whetherChanged,
      body: json(
        #""name":{"type":["string","null"]},"expireAfter":{"type":["integer","null"],"minimum":5}"#))
    static let addMember = Facts(
      messages: "PUT", "/v1/conversations/{id}/members/{user}", senders,
      "add a member to a group, or change its role", answers: whetherChanged,
      body: json(#""role":{"enum":["admin","member",null]}"#))
    static let removeMember = Facts(
      messages: "DELETE", "/v1/conversations/{id}/members/{user}", seen,
      "leave a group; an admin, remove a member", answers: whetherChanged)
    static let messages = Facts(
      messages: "GET", "/v1/conversations/{id}/messages", seen, "its messages, the newest first",
      parameters: [
        Parameter("before", .number(1...Int64.max), "Those with lower numbers."),
        Parameter("limit", .number(1...200), "So many; else 50."),
      ], answers: [(200, answer("Messages", "a page of them"))])
    static let writeMessage = Facts(
      messages: "PUT", "/v1/conversations/{id}/messages/{message}", seen,
      "write a message under the client's id, once for all repetitions",
      answers: [(200, answer("Message", "it was there")), (201, answer("Message", "it is new"))],
      body: json(
        #""text":\#(optionalText),"replyTo":{"type":["integer","null"],"minimum":1},"#
          + #""urgent":{"type":["boolean","null"]},"senderId":\#(optionalText),"expiresAt":\#(optionalText),"#
          + ["attachments", "uploads", "links"].map {
            #""\#($0)":{"type":["array","null"],"items":{"type":"string"},"maxItems":\#(NamedAttachments.most)}"#
          }.joined(separator: ",")))
    static let message = Facts(
      messages: "GET", "/v1/conversations/{id}/messages/{message}", seen,
      "a message, by its number",
      answers: [(200, answer("Message", "it"))])
    static let editMessage = Facts(
      messages: "PATCH", "/v1/conversations/{id}/messages/{message}", senders,
      "give a message another text", answers: whetherChanged,
      body: json(#""text":\#(textSchema)"#, required: ["text"]))
    static let deleteMessage = Facts(
      messages: "DELETE", "/v1/conversations/{id}/messages/{message}", senders,
      "erase the text and the attachments of a message",
      answers: whetherChanged)
    static let receipts = Facts(
      messages: "GET", "/v1/conversations/{id}/messages/{message}/receipts", seen,
      "the recipients of a message, and those that have read it",
      answers: [(200, answer("Receipts", "their names"))])
    static let read = Facts(
      messages: "PUT", "/v1/conversations/{id}/read", seen, "set the number of the last read message",
      answers: whetherChanged, body: pointer)
    static let delivered = Facts(
      messages: "PUT", "/v1/conversations/{id}/delivered", seen,
      "set the number of the last delivered message",
      answers: whetherChanged, body: pointer)
    static let typing = Facts(
      messages: "PUT", "/v1/conversations/{id}/typing", seen, "tell the other members of typing",
      answers: [(204, empty("they are told, as far as they listen"))],
      body: json(#""senderId":\#(optionalText)"#))
    static let presence = Facts(
      messages: "GET", "/v1/presence", known, "the companions that are online",
      answers: [(200, answer("Presence", "they"))])
    static let settings = Facts(
      messages: "PUT", "/v1/conversations/{id}/settings", seen, "mute a conversation",
      answers: whetherChanged,
      body: json(
        #""mutedUntil":{"type":["string","null"],"format":"date-time"},"senderId":\#(optionalText),"#
          + #""urgentBreaksMute":{"type":["boolean","null"]}"#))
    static let sync = Facts(
      messages: "GET", "/v1/sync", known, "the changes in the conversations since a position",
      parameters: [
        Parameter("since", "The `position` of the answer before; without it, all conversations."),
        Parameter("limit", .number(1...1000), "About so many messages; else 200."),
        Parameter("wait", .number(1...60), "Seconds to wait for a change where there is none."),
      ], answers: [(200, answer("Sync", "the changes, and where the next begin"))])
    static let search = Facts(
      messages: "GET", "/v1/search", known, "find messages by their text and their attachments",
      parameters: [
        Parameter(
          "q",
          "Words, phrases in quotes, and from:USER, in:CONVERSATION, has:pdf, before:2027-01-31, after:2027-01-31."
        ),
        Parameter(
          "order", .choice(SearchQuery.Order.allCases.map(\.rawValue)), "Which are first; else the newest."),
        Parameter("limit", .number(1...50), "Messages of a page; else 20."),
        Parameter("after", "The value of `next` of the page before."),
      ], answers: [(200, answer("Found", "a page of them"))])
  }
}
