import StageKit

/// Which contents are mails.
struct Recognition {
  /// The option `all`.
  let takesAll: Bool

  /// Bytes in which the first line of a header must begin and its name end.
  private static let looked = 4096

  func isMail(_ attachment: Attachment) throws(Outcome) -> Bool {
    // The author of a mail decides what libmagic finds in it: with a NUL byte, or a PDF as its first part, it is no mail to
    // libmagic, and still one to the program of its receiver. So the sender's word counts as well.
    let types = MailType.names + [MailType.mailbox]
    if types.contains(where: attachment.matches) || Self.isDeclared(attachment) { return true }
    if !takesAll { return false }
    if demandsHeader(attachment) { return true }
    return try beginsAsMail(attachment)
  }

  /// Whether the sender says that it is a mailbox file, and nothing that it is a mail.
  func isMailbox(_ attachment: Attachment) -> Bool {
    let name = Self.fileName(of: attachment)
    if name.hasSuffix(".eml") || MailType.names.contains(where: attachment.matches) { return false }
    if let type = attachment.declaredType, MailType.matches(type) { return false }
    return name.hasSuffix(".mbox") || attachment.declaredType.map(MailType.isMailbox) == true
      || attachment.matches(MailType.mailbox)
  }

  /// Whether it begins as a mail that Outlook packs. Its receiver's program goes by that, whatever its name and type say.
  func isPacked(_ attachment: Attachment) throws(Outcome) -> Bool {
    try beginning(of: attachment, 4) { TNEF.begins($0) }
  }

  /// Whether it must have the header of a mail: the host calls what comes without a name `content`. A content of a mail has a
  /// declared type, and one of an archive a name, so that a text in them need not be a mail.
  func demandsHeader(_ attachment: Attachment) -> Bool {
    takesAll && attachment.declaredType == nil && ["", "content"].contains(attachment.fileName)
  }

  /// Windows leaves out dots and spaces at the end of a name.
  private static func fileName(of attachment: Attachment) -> String {
    var name = attachment.fileName.lowercased()
    while let last = name.last, last == "." || last == " " { name.removeLast() }
    return name
  }

  private static func isDeclared(_ attachment: Attachment) -> Bool {
    let name = fileName(of: attachment)
    return attachment.declaredType.map { MailType.matches($0) || MailType.isMailbox($0) } == true
      || name.hasSuffix(".eml") || name.hasSuffix(".mbox")
  }

  private func beginsAsMail(_ attachment: Attachment) throws(Outcome) -> Bool {
    try beginning(of: attachment, Self.looked) { MailStart($0).isHeader }
  }

  private func beginning(
    of attachment: Attachment, _ most: Int, _ look: (UnsafeRawBufferPointer) -> Bool
  ) throws(Outcome) -> Bool {
    let size = min(Int(attachment.size), most)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { buffer.deallocate() }
    var count = 0
    while count < size {
      let read = try attachment.read(
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), at: Int64(count))
      if read == 0 { break }
      count += read
    }
    return look(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }
}

/// The media types of mails.
enum MailType {
  static let names = ["message/rfc822", "message/global", "message/news"]

  /// Of a file with many (RFC 4155).
  static let mailbox = "application/mbox"

  /// Whether a type as a sender writes it, perhaps with parameters, is one of them.
  static func matches(_ type: String) -> Bool { names.contains(plain(type)) }

  /// As Outlook packs them.
  static let packed = "application/vnd.ms-tnef"

  static func isMailbox(_ type: String) -> Bool { plain(type) == mailbox }

  private static func plain(_ type: String) -> String {
    let name = type.prefix { $0 != ";" }.lowercased()
    return String(name.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
  }
}

/// Where the text of a mail begins, behind a byte order mark and blank lines.
struct MailStart {
  let offset: Int
  /// Whether a header field begins there (RFC 5322, sections 2.2 and 4.5), or the line of a mailbox file before it.
  let isHeader: Bool

  init(_ bytes: UnsafeRawBufferPointer) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    var lines = Lines(bytes, from: bytes.starts(with: mark) ? mark.count : 0)
    var offset = lines.position
    while let line = lines.next() {
      if !Boundary.trimmed(line).isEmpty {
        isHeader = line.starts(with: "From ".utf8) || Self.isField(line)
        self.offset = offset
        return
      }
      offset = lines.position
    }
    (self.offset, isHeader) = (bytes.count, false)
  }

  /// Where the mail begins behind a line `From …` that stands before it in a mailbox file.
  static func behindMailboxLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var lines = Lines(bytes, from: start)
    guard let line = lines.next(), line.starts(with: "From ".utf8) else { return start }
    return min(lines.position, bytes.count)
  }

  static func isField(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
    let name = line.prefix { 0x21...0x7E ~= $0 && $0 != 0x3A }
    return !name.isEmpty && line.dropFirst(name.count).first { $0 != 0x20 && $0 != 0x09 } == 0x3A
  }
}
