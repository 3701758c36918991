import CPlatform
import Glibc
import LedgerPort
import Manifest
import Platform

extension IntakeItem {
  /// A message of a mailbox file.
  ///
  /// - Parameters:
  ///   - number: which of the mailbox's messages it is, from 1.
  ///   - path: of the mailbox, without links.
  ///   - device: of its folder.
  init(
    _ defaults: IntakeDefaults, _ message: MboxReader.Message, number: Int, of path: [UInt8],
    in device: Int64?
  ) throws(IntakeProblem) {
    let place = MboxPath(file: path, message.range, sha256: message.sha256)
    let length = message.range.upperBound - message.range.lowerBound
    func problem(_ reason: String) -> IntakeProblem { IntakeProblem(place.place, reason) }
    if length > MboxPath.limit {
      throw problem("the message has \(length) bytes where \(MboxPath.limit) are allowed; not taken in")
    }
    self.init(
      conversationId: defaults.conversationId, messageId: Hexadecimal.text(message.sha256),
      senderId: defaults.senderId, participants: defaults.participants,
      fileName: "\(MboxName.base(path))-\(number).eml", declaredType: "message/rfc822", source: place.path,
      sourceSize: length, priority: defaults.priority, origin: place.place)
    folderDevice = device
    if let fault = take(message.header, defaults) ?? fault { throw problem(fault) }
  }
}

/// The names that mailbox files have.
enum MboxName {
  private static let ending = ".mbox"

  /// Whether a file is looked into for messages. One that is named may have no ending, as those in /var/mail; in a folder that would
  /// be many other files.
  static func isMailbox(_ path: [UInt8], isNamed: Bool) -> Bool {
    let name = name(path)
    return name.hasSuffix(ending) || name == ending.dropFirst() || isNamed && !name.contains(".")
  }

  /// The file's name without its ending.
  static func base(_ path: [UInt8]) -> String {
    let name = name(path)
    return name.hasSuffix(ending) && name != ending ? String(name.dropLast(ending.count)) : name
  }

  private static func name(_ path: [UInt8]) -> String {
    String(decoding: path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...], as: UTF8.self)
  }
}

/// Keeps programs of mail from writing to a mailbox while it is read: those that lock it by fcntl(2), as most do.
enum MboxLock {
  private static let tries = 100

  /// Waits for up to ten seconds. The lock ends as the descriptor is closed.
  ///
  /// - Returns: false: another program has it. Where the file system knows no locks, nothing is locked.
  static func take(_ descriptor: Int32) -> Bool {
    for _ in 0..<tries {
      if sluice_lock_to_read(descriptor) == 0 || (errno != EAGAIN && errno != EACCES) { return true }
      usleep(100_000)
    }
    return false
  }
}
