/// A mail as Outlook packs it into an attachment `winmail.dat`: the Transport Neutral Encapsulation Format (MS-OXTNEF).
///
/// Its bytes must outlive it. Checksums are not looked at: programs that show such mails do not either, and what they show must not
/// pass unseen.
struct TNEF {
  private(set) var message = Message()
  /// In the order of the stream.
  private(set) var files: [File] = []

  /// What there is besides the files.
  struct Message {
    /// The code page of texts that name none.
    var codePage: Int?
    var subject: TNEFText?
    /// Mostly one of a kind. The text may be an attribute, too, in fewer letters.
    var (bodies, plainBodies): ([TNEFText], [TNEFText]) = ([], [])
    var htmls: [TNEFText] = []
    /// Compressed (MS-OXRTFCP).
    var rtfs: [UnsafeRawBufferPointer] = []
    /// That of `htmls`.
    var htmlCodePage: Int?

    var texts: Int { bodies.count + plainBodies.count + htmls.count + rtfs.count }
  }

  struct File {
    /// By what a program would call it, the best last.
    fileprivate(set) var names: [Name: TNEFText] = [:]
    fileprivate(set) var type: TNEFText?
    /// Mostly one. A mail in the mail is a stream of this format.
    fileprivate(set) var contents: [UnsafeRawBufferPointer] = []

    var name: TNEFText? { names.max { $0.key < $1.key }?.value }

    /// Whether it has no name of a file.
    var isUnnamed: Bool { names.keys.allSatisfy { $0 == .display } }

    fileprivate mutating func add(_ content: UnsafeRawBufferPointer) {
      if contents.first?.isEmpty == true { contents.removeAll() }
      // Some programs write the same content twice, as an attribute and as a property.
      let isKnown = contents.first?.elementsEqual(content) == true
      if contents.isEmpty || !content.isEmpty && !isKnown { contents.append(content) }
    }
  }

  enum Name: Int, Comparable {
    case display, transport, title, short, long

    static func < (left: Name, right: Name) -> Bool { left.rawValue < right.rawValue }
  }

  /// Where it cannot be read on.
  struct Damage: Error {}

  static func begins(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.starts(with: [0x78, 0x9F, 0x3E, 0x22])
  }

  /// - Parameter limit: files that are looked for at most.
  init(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) throws(Damage) {
    do throws(Fields.Cut) { try read(bytes, limit) } catch { throw Damage() }
  }

  private mutating func read(_ bytes: UnsafeRawBufferPointer, _ limit: Int) throws(Fields.Cut) {
    var fields = Fields(bytes)
    _ = try fields.bytes(Self.header)
    while fields.left >= Self.leastAttribute, files.count < limit {
      // Programs go by the id alone: not by the level before it, nor by the type that its upper half says.
      _ = try fields.number(UInt8.self)
      let attribute = Attribute(rawValue: UInt16(truncatingIfNeeded: try fields.number(UInt32.self)))
      let value = try fields.bytes(Int(try fields.number(UInt32.self)))
      _ = try fields.number(UInt16.self)
      if let attribute { try take(attribute, value) }
    }
    if files.count < limit, !(try fields.bytes(fields.left)).allSatisfy(Self.blanks.contains) {
      throw Fields.Cut()
    }
  }

  /// Bytes that may follow the last attribute: programs of mail add them. Others are the beginning of one, or hide what comes behind.
  private static let blanks: Set<UInt8> = [0x00, 0x09, 0x0A, 0x0D, 0x20]

  /// Bytes of the signature and the key.
  private static let header = 6
  /// Bytes of level, id, length and checksum.
  private static let leastAttribute = 11

  /// Those of section 2.1.3.1 that are of use here.
  private enum Attribute: UInt16 {
    case attachRendData = 0x9002
    case attachTitle = 0x8010
    case attachData = 0x800F
    case attachTransportFilename = 0x9001
    case attachment = 0x9005
    case msgProps = 0x9003
    case body = 0x800C
    case subject = 0x8004
    case oemCodepage = 0x9007
  }

  private mutating func take(_ attribute: Attribute, _ value: UnsafeRawBufferPointer) throws(Fields.Cut) {
    switch attribute {
    case .attachRendData: files.append(File())
    case .attachTitle: last { $0.names[.title] = .bytes(value) }
    case .attachTransportFilename: last { $0.names[.transport] = .bytes(value) }
    case .attachData: last { $0.add(value) }
    case .attachment:
      try TNEFProperty.each(in: value) { property in last { $0.take(property) } }
    case .msgProps: try TNEFProperty.each(in: value) { message.take($0) }
    case .body: message.plainBodies.append(.bytes(value))
    case .subject: if message.subject == nil { message.subject = .bytes(value) }
    case .oemCodepage:
      var fields = Fields(value)
      message.codePage = Int(try fields.number(UInt32.self))
    }
  }

  /// A file's attributes follow its first one. A stream may leave that out.
  private mutating func last(_ change: (inout File) -> Void) {
    if files.isEmpty { files.append(File()) }
    change(&files[files.count - 1])
  }
}

/// A text of which the code page may lie elsewhere in the stream.
enum TNEFText {
  case bytes(UnsafeRawBufferPointer)
  case utf16(UnsafeRawBufferPointer)
}

extension TNEF.Message {
  fileprivate mutating func take(_ property: TNEFProperty) {
    switch property.id {
    case 0x0037: subject = property.text ?? subject
    case 0x1000: bodies.append(property.text ?? .bytes(property.value))
    case 0x1013: htmls.append(property.text ?? .bytes(property.value))
    case 0x1009: rtfs.append(property.value)
    case 0x3FDE: htmlCodePage = property.number ?? htmlCodePage
    case 0x3FFD: codePage = codePage ?? property.number
    default: break
    }
  }
}

extension TNEF.File {
  fileprivate mutating func take(_ property: TNEFProperty) {
    switch property.id {
    case 0x3001: names[.display] = property.text
    case 0x3704: names[.short] = property.text
    case 0x3707: names[.long] = property.text
    case 0x370E: type = property.text
    case 0x3701: add(property.content)
    default: break
    }
  }
}
