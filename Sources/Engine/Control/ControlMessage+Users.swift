import LedgerPort
import Wire

// Commands about users. Only the server begins and ends sessions, and it is in the coordinator.
extension ControlMessage {
  /// The kinds of commands about users.
  private enum UserAction: UInt8 {
    case add = 1, change, erase
  }

  /// The longest text about a user, in bytes.
  private static let userLimit = 4096

  static func write(_ command: UserCommand, _ writer: inout FrameWriter) {
    writer.write(command.userId)
    switch command.action {
    case .add(let name, let email, let password, let role, _):
      writer.write(UserAction.add.rawValue)
      for text in [name, email, password, role.rawValue] { writer.write(text) }
    case .change(let change):
      writer.write(UserAction.change.rawValue)
      for text in [change.name, change.email, change.password] { writer.write(text) }
      writer.write(change.isDisabled.map { $0 ? "yes" : "no" })
      writer.write(change.adds)
    case .erase: writer.write(UserAction.erase.rawValue)
    case .signIn, .signOut, .prolong: writer.write(UInt8(0))
    }
  }

  static func userCommand(_ reader: inout FrameReader) throws(FrameError) -> UserCommand {
    let id = try reader.requiredText(atMost: userLimit)
    switch UserAction(rawValue: try reader.integer(UInt8.self)) {
    case .add:
      let name = try reader.requiredText(atMost: userLimit)
      let (email, password) = (try reader.text(atMost: userLimit), try reader.text(atMost: userLimit))
      guard (email == nil) == (password == nil),
        let role = AccessToken.Role(rawValue: try reader.requiredText(atMost: userLimit)), role != .service
      else { throw FrameError("a user that is none") }
      return UserCommand(
        id, .add(name: name, email: email, password: password, role: role, session: nil))
    case .change:
      var change = UserChange()
      change.name = try reader.text(atMost: userLimit)
      change.email = try reader.text(atMost: userLimit)
      change.password = try reader.text(atMost: userLimit)
      change.isDisabled = try reader.text(atMost: userLimit).map { $0 == "yes" }
      change.adds = try reader.boolean()
      return UserCommand(id, .change(change))
    case .erase: return UserCommand(id, .erase(byService: false))
    case nil: throw FrameError("an unknown command about a user")
    }
  }
}
