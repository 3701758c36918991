import LedgerPort
import Platform

// The objects of conversations and of users.
extension OpenAPI {
  static var conversation: [(String, String)] {
    let member = object([
      ("user", text), ("name", optionalText), ("role", oneOf(Member.Role.allCases)), ("joinedNumber", number),
      ("leftNumber", optionalNumber), ("deliveredNumber", number), ("readNumber", number),
    ])
    return [
      ("id", text), ("kind", oneOf(Conversation.Kind.allCases)), ("name", optionalText),
      ("history", oneOf(Conversation.History.allCases)), ("expireAfter", optionalNumber),
      ("createdAt", time), ("lastNumber", number),
      ("members", #"{"type":"array","items":\#(member)}"#),
    ]
  }

  /// The members of the object for oneself and for operators.
  static var user: [(String, String)] {
    [
      ("email", optionalText), ("role", oneOf(AccessToken.Role.allCases)), ("createdAt", time),
      ("disabledAt", optionalTime), ("erasedAt", optionalTime),
    ]
  }

  /// The members of the object for a member of the conversation alone.
  static let ownSettings = [
    ("unread", number), ("mutedUntil", optionalTime), ("urgentBreaksMute", #"{"type":"boolean"}"#),
    ("firstNumber", number),
  ]

  static var message: [(String, String)] {
    [
      ("conversationId", text), ("number", number), ("id", text), ("clientId", optionalText),
      ("senderId", text), ("text", optionalText), ("replyTo", optionalNumber),
      ("urgent", #"{"type":"boolean"}"#), ("createdAt", time), ("editedAt", optionalTime),
      ("deletedAt", optionalTime), ("expiresAt", optionalTime),
    ]
  }

  /// Members of a message with its readers.
  static var messageExtras: [(String, String)] {
    [
      ("attachments", ##"{"type":"array","items":{"$ref":"#/components/schemas/Attachment"}}"##),
      (
        "uploads",
        #"{"type":"array","items":"#
          + object([("id", text), ("fileName", optionalText), ("length", optionalNumber)]) + "}"
      ),
      ("status", oneOf(MessageStatus.allCases)),
      ("receipts", object([("of", number), ("delivered", number), ("read", number)])),
    ]
  }
}
