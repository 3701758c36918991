import StageKit

extension Extraction {
  /// What Outlook has packed: its texts become objects, further ones, its files and the text as RTF contents.
  mutating func run(_ tnef: TNEF) throws(Outcome) {
    let message = tnef.message
    if let subject = message.subject.map({ line($0, message.codePage) }), !subject.isEmpty {
      attachment.annotate("mail.subject", subject)
    }
    try take(
      message.bodies + message.plainBodies, message.codePage, ("body", "text/plain"))
    try take(
      message.htmls, message.htmlCodePage ?? message.codePage, ("body-html", "text/html"))
    // Compressed, it is seen by no scanner.
    var known: Set<[UInt8]> = []
    for bytes in message.rtfs where !bytes.isEmpty {
      guard let rtf = CompressedRTF(bytes, atMost: limits.bytes + 1) else {
        throw .reject("damaged", "a text in it is compressed in a way that is not known")
      }
      if !known.insert(rtf.text).inserted { continue }
      try withBytes(rtf.text) { bytes throws(Outcome) in try add(bytes, "body.rtf", "application/rtf") }
    }
    for file in tnef.files {
      for content in file.contents where !attachment.isCancelled {
        parts += 1
        if parts > limits.parts { throw limits.tooManyParts }
        try add(content, name(of: file, content, message.codePage), type(of: file, content, message.codePage))
      }
    }
  }

  /// The first text becomes an object. Programs differ in which they show, so that others are contents.
  private mutating func take(
    _ texts: [TNEFText], _ codePage: Int?, _ object: (name: String, type: String)
  ) throws(Outcome) {
    var known: Set<[UInt8]> = []
    for text in texts where !attachment.isCancelled {
      let converted = charsets.utf8(text, codePage)
      var bytes = converted ?? []
      if case .bytes(let raw) = text {
        let label = codePage.map(Charsets.name(ofCodePage:))
        if charset == nil { charset = label }
        if converted == nil {
          unconverted = label
          bytes = Array(raw)
        }
      }
      let isFirst = known.isEmpty
      if !known.insert(bytes).inserted { continue }
      try withBytes(bytes) { bytes throws(Outcome) in
        if isFirst { try attachment.derive(object.name, object.type, bytes) }
        if !isFirst || givesText && !bytes.isEmpty { try add(bytes, Self.names[object.type], object.type) }
      }
    }
  }

  private func name(of file: TNEF.File, _ content: UnsafeRawBufferPointer, _ codePage: Int?) -> String? {
    let name = file.name.map { line($0, codePage, endsAtNUL: true) }
    // A mail in the mail has its subject for a name.
    guard TNEF.begins(content), file.isUnnamed else { return name }
    return plainText(name ?? "message", limit: Self.longestName) + ".tnef"
  }

  private func type(of file: TNEF.File, _ content: UnsafeRawBufferPointer, _ codePage: Int?) -> String {
    if TNEF.begins(content) { return MailType.packed }
    let type = file.type.map { line($0, codePage) } ?? ""
    return type.isEmpty ? "application/octet-stream" : plainText(type.lowercased(), limit: 255)
  }

  /// A text that is shown, without what cannot be read.
  ///
  /// - Parameter endsAtNUL: as programs see it that write files.
  private func line(_ text: TNEFText, _ codePage: Int?, endsAtNUL: Bool = false) -> String {
    let text = String(decoding: charsets.utf8(text, codePage) ?? [], as: UTF8.self)
    return plainText(endsAtNUL ? String(text.prefix { $0 != "\0" }) : text, limit: Headers.longest)
  }
}

extension Charsets {
  /// `nil`: the code page is not known.
  fileprivate func utf8(_ text: TNEFText, _ codePage: Int?) -> [UInt8]? {
    switch text {
    case .bytes(let bytes):
      utf8(Self.withoutEnd(bytes), codePage.map(Self.name(ofCodePage:)))
    case .utf16(let bytes):
      Array(String(decoding: Self.withoutEnd(UTF16Units(bytes)), as: UTF16.self).utf8)
    }
  }

  /// The NULs behind a text.
  private static func withoutEnd(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[..<((bytes.lastIndex { $0 != 0 } ?? -1) + 1)])
  }

  private static func withoutEnd(_ units: UTF16Units) -> Slice<UTF16Units> {
    units[..<((units.lastIndex { $0 != 0 } ?? -1) + 1)]
  }

  /// The name of a code page of Windows, as a mail would write it.
  fileprivate static func name(ofCodePage number: Int) -> String {
    switch number {
    case 20127: "us-ascii"
    case 65001: "utf-8"
    case 28591...28606: "iso-8859-\(number - 28590)"
    case 20866: "koi8-r"
    case 21866: "koi8-u"
    case 50220...50222: "iso-2022-jp"
    case 20932, 51932: "euc-jp"
    case 51949: "euc-kr"
    case 936: "gbk"
    case 950: "big5"
    case 54936: "gb18030"
    case 10000: "macintosh"
    default: "cp\(number)"
    }
  }
}

/// Bytes as units of UTF-16, the less significant first; half of one at the end is left out.
private struct UTF16Units: RandomAccessCollection {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  let startIndex = 0
  var endIndex: Int { bytes.count / 2 }

  subscript(index: Int) -> UInt16 {
    UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
  }
}
