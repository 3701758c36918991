import Pipeline

// Users, accounts and sessions.
extension Route {
  /// The setting that a route depends on.
  enum Need: Sendable {
    case nothing
    /// Conversations or accounts.
    case people
    case messages
    case accounts

    func isMet(by rules: ServeRules) -> Bool {
      switch self {
      case .nothing: true
      case .people: rules.messages || rules.accounts != .nobody
      case .messages: rules.messages
      case .accounts: rules.accounts != .nobody
      }
    }
  }

  enum Users {
    static let signUp = Facts(
      users: "POST", "/v1/users", Set(Party.allCases), "make an account, and sign in with it",
      answers: [(201, answer("SignedIn", "it is made; a service gets the user alone"))],
      body: json(
        #""email":\#(textSchema),"password":\#(textSchema),"name":\#(optionalText),\#(session),"id":\#(optionalText)"#,
        required: ["email", "password"]), needs: .accounts)
    static let signIn = Facts(
      users: "POST", "/v1/sessions", Set(Party.allCases), "sign in",
      answers: [(201, answer("SignedIn", "the session has begun"))],
      body: json(
        #""email":\#(textSchema),"password":\#(textSchema),\#(session)"#, required: ["email", "password"]),
      needs: .accounts)
    static let sessions = Facts(
      users: "GET", "/v1/sessions", known, "where one is signed in",
      answers: [(200, answer("Sessions", "the sessions that last"))], needs: .accounts)
    static let endSession = Facts(
      users: "DELETE", "/v1/sessions/{session}", known,
      "sign out: a session by its id, the `current` one, or `all`",
      answers: [(204, empty("its token is worth nothing any more"))], needs: .accounts)
    static let me = Facts(
      users: "GET", "/v1/me", known, "the user of the token",
      answers: [(200, answer("User", "it"))])
    static let changeMe = Facts(
      users: "PATCH", "/v1/me", known.subtracting([.service]), "change one's own name, address or password",
      answers: [(200, answer("User", "it, as it is now"))],
      body: json(
        #""name":\#(optionalText),"email":\#(optionalText),"password":\#(optionalText),"currentPassword":\#(optionalText)"#
      ))
    static let users = Facts(
      users: "GET", "/v1/users", known, "find users by name or address",
      parameters: [
        Parameter("query", "The beginnings of the words of a name, or a whole address."),
        Parameter("limit", .number(1...200), "So many; else 50."),
      ], answers: [(200, answer("Users", "those that are found"))])
    static let user = Facts(
      users: "GET", "/v1/users/{user}", seen, "a user; for users, oneself or a member of one's conversations",
      answers: [(200, answer("User", "it"))])
    static let setUser = Facts(
      users: "PUT", "/v1/users/{user}", operators, "add a user, or change what is given of it",
      answers: [(200, answer("User", "it, as it is now"))],
      body: json(
        #""name":\#(optionalText),"email":\#(optionalText),"password":\#(optionalText),"disabled":{"type":["boolean","null"]}"#
      ))

    static let eraseMe = Facts(
      users: "DELETE", "/v1/me", known.subtracting([.service]),
      "erase oneself, with all messages and attachments",
      answers: [(204, empty("nothing is left but the id"))],
      body: json(#""currentPassword":\#(optionalText)"#))
    static let eraseUser = Facts(
      users: "DELETE", "/v1/users/{user}", operators, "erase a user, with all its messages and attachments",
      answers: [(204, empty("nothing is left but the id"))])

    private static let session = #""device":\#(optionalText),"cookie":{"type":["boolean","null"]}"#
  }
}
