import CGMime
import StageKit

/// The work on one mail: its text becomes an object beside it, everything else a content of its own; the text as well where that
/// is wanted.
struct Extraction {
  let attachment: Attachment
  private let content: UnsafeRawBufferPointer
  let limits: Limits
  let charsets: Charsets
  /// Whether the text is to be judged as everything else.
  let givesText: Bool
  /// Bytes that the pipeline takes out of it.
  private let room: UInt64

  var parts = 0
  private var children = 0
  private var bytes = 0
  var charset: String?
  var unconverted: String?
  /// The types of text that were found: only the first text of a type is the mail's.
  private var bodies: Set<String> = []

  /// A part that is to be looked at, with those it lies in.
  private struct Place {
    let part: UnsafeMutablePointer<GMimeObject>
    let depth: Int
    let boundaries: [[UInt8]]
  }

  init(
    _ attachment: Attachment, _ content: UnsafeRawBufferPointer, _ limits: Limits, _ charsets: Charsets,
    givesText: Bool
  ) {
    self.attachment = attachment
    self.content = content
    self.limits = limits
    self.charsets = charsets
    self.givesText = givesText
    room = attachment.childRoom.bytes
  }

  mutating func run(_ parsed: Parsed) throws(Outcome) {
    var open: [Place] = []
    if let root = parsed.root { open.append(Place(part: root, depth: 0, boundaries: [])) }
    while let place = open.popLast(), !attachment.isCancelled {
      parts += 1
      if parts > limits.parts { throw limits.tooManyParts }
      if place.depth > limits.depth { throw limits.tooDeep }
      try checkType(of: place.part)
      if place.depth > 0 { try FieldCheck.check(headerOf: place.part, in: content) }
      guard sluice_is_multipart(place.part) != 0, let multipart = sluice_multipart(place.part) else {
        try take(place)
        continue
      }
      let boundary = Nesting.boundary(of: place.part)
      try Nesting.check(boundary, within: place.boundaries)
      let count = g_mime_multipart_get_count(multipart)
      if count == 0, !isBlank(place, boundary) {
        throw .reject("damaged", "it should have parts, and none can be found in it")
      }
      if parts + open.count + Int(count) > limits.parts { throw limits.tooManyParts }
      // In the order of the mail.
      for index in (0..<max(count, 0)).reversed() {
        guard let part = g_mime_multipart_get_part(multipart, index) else { continue }
        open.append(
          Place(
            part: part, depth: place.depth + 1, boundaries: place.boundaries + (boundary.map { [$0] } ?? [])))
      }
    }
  }

  mutating func run(_ mailbox: Mbox) throws(Outcome) {
    let name = plainText(attachment.fileName, limit: Self.longestName)
    for (index, message) in mailbox.messages.enumerated() where !attachment.isCancelled {
      parts += 1
      try add(message, "\(name)-\(index + 1).eml", MailType.names[0])
    }
  }

  private mutating func take(_ place: Place) throws(Outcome) {
    if sluice_is_message_part(place.part) != 0 {
      try take(message: place)
    } else if sluice_is_part(place.part) != 0, let part = sluice_part(place.part) {
      if let name = bodyName(part) { try take(body: part, name) } else { try take(file: part) }
    }
  }

  /// Programs differ in which of two they go by.
  private func checkType(of part: UnsafeMutablePointer<GMimeObject>) throws(Outcome) {
    for name in ["Content-Type", "Content-Transfer-Encoding"] where sluice_has_two(part, name) != 0 {
      throw .reject("damaged", "a part of it has two fields \(name) that differ")
    }
    let fields = Field.all(of: part, in: content)
    try TransferEncoding.check(fields)
    try FieldCheck.check(fields)
  }

  /// Whether a part has nothing behind its headers but white space and the end of its own parts.
  private func isBlank(_ place: Place, _ boundary: [UInt8]?) -> Bool {
    guard let start = start(behindHeadersOf: place.part) else { return true }
    let end = Boundary.end(of: content, from: start, place.boundaries)
    let dashes: [UInt8] = [0x2D, 0x2D]
    let last = boundary.map { dashes + $0 + dashes }
    return Lines(UnsafeRawBufferPointer(rebasing: content[start..<max(start, end)])).allSatisfy { line in
      let line = Boundary.trimmed(line)
      return line.isEmpty || last.map { line.elementsEqual($0) } == true
    }
  }

  // MARK: The text

  /// `body` or `body-html` for the first text of its type that is not declared as a file.
  private mutating func bodyName(_ part: UnsafeMutablePointer<GMimePart>) -> String? {
    let names = ["text/plain": "body", "text/html": "body-html"]
    let type = Self.type(sluice_object(part))
    guard let name = names[type], fileName(of: sluice_object(part)) == nil,
      text(g_mime_object_get_disposition(sluice_object(part)))?.lowercased() != "attachment"
    else { return nil }
    return bodies.insert(name).inserted ? name : nil
  }

  private mutating func take(body part: UnsafeMutablePointer<GMimePart>, _ name: String) throws(Outcome) {
    let decoded = try DecodedContent(part)
    let label = text(g_mime_object_get_content_type_parameter(sluice_object(part), "charset"))
    let converted = charsets.utf8(decoded.bytes, label, isMarkup: name == "body-html")
    if let label {
      if charset == nil { charset = label }
      if converted == nil { unconverted = label }
    }
    let type = name == "body" ? "text/plain" : "text/html"
    try withBytes(converted ?? Array(decoded.bytes)) { bytes throws(Outcome) in
      try attachment.derive(name, type, bytes)
    }
    if givesText, !decoded.bytes.isEmpty, !(isText && decoded.isPlain) {
      try add(decoded.bytes, Self.names[type], type)
    }
  }

  /// The names of a text as a content, by its type.
  static let names = ["text/plain": "body.txt", "text/html": "body.html"]

  /// Whether this is itself the text of a mail. One that begins as a mail does is taken apart, and what is not encoded in it has
  /// been seen: a text whose paragraphs all begin with a URL would come out of itself again and again.
  private var isText: Bool { Self.names.values.contains(attachment.fileName) }

  func withBytes(_ array: [UInt8], _ body: (UnsafeRawBufferPointer) throws(Outcome) -> Void) throws(Outcome) {
    let done = array.withUnsafeBytes { bytes in Result { () throws(Outcome) in try body(bytes) } }
    try done.get()
  }

  // MARK: Contents

  private mutating func take(file part: UnsafeMutablePointer<GMimePart>) throws(Outcome) {
    let decoded = try DecodedContent(part)
    let type = Self.type(sluice_object(part))
    var name = fileName(of: sluice_object(part))
    // Against RFC 2046, some programs encode a mail in a mail. To GMime that is a file.
    if name == nil, MailType.matches(type) { name = self.name(ofEncoded: decoded.bytes) }
    try add(decoded.bytes, name, type)
  }

  /// The name of a file, from `Content-Disposition` or `Content-Type`; `nil`: neither has a name.
  private func fileName(of part: UnsafeMutablePointer<GMimeObject>) -> String? {
    let fields = Field.all(of: part, in: content)
    for (field, parameter) in [("Content-Disposition", "filename"), ("Content-Type", "name")] {
      let value = fields.first { $0.isCalled(field) }?.value
      if let name = value.flatMap({ Parameters($0, charsets.words).text(parameter) }) { return name }
    }
    return nil
  }

  /// A mail in the mail, as it lies there: GMime would write it anew.
  private mutating func take(message place: Place) throws(Outcome) {
    try Nesting.check(messageIn: place.part, within: place.boundaries)
    guard let start = start(ofMessage: place.part) else { return }
    let end = Boundary.end(of: content, from: start, place.boundaries)
    try add(
      UnsafeRawBufferPointer(rebasing: content[start..<end]),
      fileName(of: place.part)
        ?? name(of: g_mime_message_part_get_message(sluice_message_part(place.part)), in: content),
      Self.type(place.part))
  }

  /// The name of a mail that is given none.
  private func name(
    of message: UnsafeMutablePointer<GMimeMessage>?, in content: UnsafeRawBufferPointer
  ) -> String {
    let ending = ".eml"
    let subject = message.flatMap { message in
      Field.all(of: sluice_message_object(message), in: content).first { $0.isCalled("Subject") }
    }
    let text = subject.map { charsets.words.decoded($0.value.drop { $0 == 0x20 }) } ?? ""
    let name = plainText(text, limit: Self.longestName - ending.utf8.count)
    return (name.allSatisfy(\.isWhitespace) ? "message" : name) + ending
  }

  /// Only its headers are parsed: its parts are not counted yet.
  private func name(ofEncoded mail: UnsafeRawBufferPointer) -> String {
    let text = UnsafeRawBufferPointer(rebasing: mail[MailStart(mail).offset...])
    var lines = Lines(text)
    while let line = lines.next(), lines.position < Self.longestHeaders {
      if Boundary.trimmed(line).isEmpty { break }
    }
    let headers = UnsafeRawBufferPointer(
      rebasing: text[..<min(lines.position, text.count, Self.longestHeaders)])
    let parsed = Parsed(headers)
    return withExtendedLifetime(parsed) { name(of: parsed?.message, in: headers) }
  }

  /// Bytes of headers that are searched for a subject.
  private static let longestHeaders = 64 << 10

  /// Bytes of such a name.
  static let longestName = 100

  /// `nil`: neither the part nor the mail in it has a header, so that there is nothing of it.
  private func start(ofMessage part: UnsafeMutablePointer<GMimeObject>) -> Int? {
    let message = sluice_message_start(g_mime_message_part_get_message(sluice_message_part(part)))
    if 0..<content.count ~= Int(message) { return Int(message) }
    // A mail without headers begins behind those of the part.
    return start(behindHeadersOf: part)
  }

  private func start(behindHeadersOf part: UnsafeMutablePointer<GMimeObject>) -> Int? {
    let headers = sluice_first_offset(part)
    guard 0..<content.count ~= Int(headers) else { return nil }
    var lines = Lines(content, from: Int(headers))
    while let line = lines.next() {
      if Boundary.trimmed(line).isEmpty { return min(lines.position, content.count) }
    }
    return nil
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer, _ name: String?, _ type: String) throws(Outcome) {
    try limits.checkBytes(self.bytes + bytes.count)
    // The host puts its own reason, such as the depth, in the place of any that follows a content it has refused. So no limit of
    // the pipeline is looked at before.
    guard let child = attachment.addChild(name, declaredType: type) else {
      throw .reject("too-many-parts", "no more contents are taken out of it")
    }
    try limits.checkBytes(self.bytes + bytes.count, room: room)
    children += 1
    self.bytes += bytes.count
    try Attachment.append(bytes, to: child)
  }

  private static func type(_ part: UnsafeMutablePointer<GMimeObject>?) -> String {
    let type = g_mime_object_get_content_type(part).flatMap { taken(g_mime_content_type_get_mime_type($0)) }
    return plainText(type?.lowercased() ?? "text/plain", limit: 255)
  }

  // MARK: Metadata

  func annotate() {
    attachment.annotate("mail.parts", Int64(parts))
    attachment.annotate("mail.attachments", Int64(children))
    attachment.annotate("mail.bytes", Int64(bytes))
    if let charset { attachment.annotate("mail.charset", plainText(charset, limit: 100)) }
    if let unconverted { attachment.annotate("mail.unconverted", plainText(unconverted, limit: 100)) }
  }
}
