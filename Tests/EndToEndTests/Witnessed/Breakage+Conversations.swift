/// Broken promises about what people have written.
extension Breakage {
  static var conversations: [Breakage] {
    [
      Breakage("a message of a conversation is missing", ["message-number"]) { home in
        try home.sql(
          "INSERT INTO conversations VALUES (1, 'talk', 'group', NULL, 'all', NULL, NULL, 1, 0, 0, 0)")
      },
      Breakage("a message has a number beyond the last", ["message-number"]) { home in
        try home.sql(message(number: 2))
      },
      Breakage("a message is there twice", ["message-doubled"]) { home in
        try home.sql(
          "DROP INDEX messages_by_client; " + message(number: nil, client: "'c'")
            + message("n", number: nil, client: "'c'"))
      },
      Breakage("a member has read more than it was told", ["pointer-wrong"]) { home in
        try home.sql(
          """
          INSERT INTO conversations VALUES (1, 'talk', 'group', NULL, 'all', NULL, NULL, 0, 0, 0, 0);
          INSERT INTO members VALUES (1, 'ann', 'admin', 1, 0, 0, NULL, NULL, NULL, 0, 1, NULL, 1, 0, 0)
          """)
      },
      Breakage("a deleted message has its text", ["version-left"]) { home in
        try home.sql(message(number: nil) + "UPDATE messages SET deleted_at = 1 WHERE message_id = 'm'")
      },
      Breakage("a deleted message has an earlier text", ["version-left"]) { home in
        try home.sql(
          message(number: nil) + "UPDATE messages SET deleted_at = 1, text = NULL WHERE message_id = 'm'; "
            + "INSERT INTO versions VALUES ('talk', 'm', 1, 'before', 0)")
      },
    ]
  }

  private static func message(_ id: String = "m", number: Int?, client: String = "NULL") -> String {
    let number = number.map { "\($0)" } ?? "NULL"
    return
      "INSERT INTO messages (conversation_id, message_id, sender_id, participants, text, created_at, number, changed, client_id) "
      + "VALUES ('talk', '\(id)', 'ann', '[]', 'text', 0, \(number), \(number), \(client)); "
  }
}
