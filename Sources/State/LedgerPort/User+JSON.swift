import Platform

// Users and sessions as JSON, for answers over HTTP and of commands.

extension User {
  /// Writes what others see of it, or all.
  public func write(to writer: inout JSONWriter, isForUser: Bool) {
    writer.member("id", id)
    writer.member("name", name.isEmpty ? nil : name)
    if isForUser { return }
    writer.member("email", email)
    writer.member("role", role.rawValue)
    writer.member("createdAt", Clock.timestamp(createdAt))
    writer.member("disabledAt", disabledAt.map(Clock.timestamp))
    writer.member("erasedAt", erasedAt.map(Clock.timestamp))
  }
}

extension AccessToken {
  /// Writes what a person sees of a session.
  public func writeSession(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("device", device)
    writer.member("createdAt", Clock.timestamp(createdAt))
    writer.member("expiresAt", expiresAt.map(Clock.timestamp))
  }
}

extension UserResult.Refusal {
  /// For operators of the server: a sentence without its full stop.
  public var sentence: String {
    switch self {
    case .notFound: "there is no such user"
    case .wrongPassword: "the password is another one by now"
    case .disabled: "the user is disabled"
    case .erased: "the user was erased"
    case .idTaken: "there is a user with this id already; give another"
    case .administrators: "a service does not change the account of an administrator"
    case .again: "it could not be done; try again"
    case .emailTaken: "there is an account with this address already"
    case .invalid(let name, let fault): "its \(name) \(fault)"
    }
  }
}
