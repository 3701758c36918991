import CPlatform
import Glibc
import LedgerPort
import Manifest
import Platform
import Wire

extension IntakeItem {
  /// A message of a Maildir, as far as its place says: that is enough to know it again.
  init(_ defaults: IntakeDefaults, _ message: MaildirPath, _ file: FileState, in device: Int64?) {
    let unique = String(decoding: message.unique, as: UTF8.self)
    let path = String(decoding: message.path, as: UTF8.self)
    self.init(
      conversationId: defaults.conversationId, messageId: unique, senderId: defaults.senderId,
      participants: defaults.participants, fileName: unique + ".eml", declaredType: "message/rfc822",
      source: message.path, sourceSize: file.size, sourceModified: file.modified,
      priority: defaults.priority, origin: path)
    (folderDevice, isMaildirMessage) = (device, true)
  }

  /// A message of a Maildir with what its header says. May have been renamed since it was found.
  ///
  /// - Returns: `nil`: it is gone, as messages that are deleted by their reader.
  init?(_ defaults: IntakeDefaults, _ message: MaildirPath) throws(IntakeProblem) {
    func problem(_ reason: String) -> IntakeProblem {
      IntakeProblem(String(decoding: message.path, as: UTF8.self), reason)
    }
    var path = message.path
    var number = path.withPath { sluice_open_source($0) }
    if number < 0, errno == ENOENT {
      guard let renamed = message.open({ sluice_open_source($0) }) else { return nil }
      (number, path) = (renamed.descriptor, renamed.path)
    }
    if number < 0 {
      let reason = errno == ELOOP ? "a symbolic link; not followed" : String(cString: strerror(errno))
      throw problem(reason)
    }
    let file = Descriptor(owning: number)
    var facts = stat()
    if fstat(file.number, &facts) != 0 { throw problem(String(cString: strerror(errno))) }
    guard facts.st_mode & S_IFMT == S_IFREG, let message = MaildirPath(path) else {
      throw problem("not a file; passed over")
    }
    let header: MessageHeader
    do {
      header = try MessageHeader(reading: file.number)
    } catch {
      throw problem("\(error)")
    }
    self.init(defaults, message, FileState(facts), in: InputWalker.number(facts.st_dev))
    if let fault = take(header, defaults) ?? fault { throw self.problem(fault) }
  }

  /// Takes over what the header of a mail says. Returns why it cannot be taken in; `nil`: it can.
  mutating func take(_ header: MessageHeader, _ defaults: IntakeDefaults) -> String? {
    if let id = header.messageId {
      guard let text = String(validating: id, as: UTF8.self) else {
        return "its Message-ID is not UTF-8; not taken in"
      }
      messageId = text
    }
    if !defaults.namesSender, let sender = header.sender { senderId = sender }
    if !defaults.namesParticipants { participants = header.participants }
    return nil
  }
}
