import CExpat

/// The properties in a metadata stream (XMP, ISO 16684-1).
///
/// No properties are read from malformed XML.
package struct Metadata {
  package private(set) var values: [Document.Entry: String] = [:]

  package init(xml: UnsafeRawBufferPointer) {
    guard let parser = XML_ParserCreateNS(nil, Reader.separator) else { return }
    defer { XML_ParserFree(parser) }
    // Without a salt, expat asks the system for one.
    XML_SetHashSalt(parser, Self.salt)
    let reader = Reader(parser)
    withExtendedLifetime(reader) {
      XML_SetUserData(parser, Unmanaged.passUnretained(reader).toOpaque())
      XML_SetElementHandler(
        parser, { Reader.of($0)?.open($1, $2) }, { data, _ in Reader.of(data)?.close() })
      XML_SetCharacterDataHandler(parser) { Reader.of($0)?.read($1, $2) }
      let start = xml.bindMemory(to: CChar.self).baseAddress
      _ = XML_Parse(parser, start, Int32(clamping: xml.count), 1)
    }
    if reader.isWhole { values = reader.values }
  }

  /// The salt of expat's hash tables.
  private static let salt = UInt.random(in: 1...UInt.max)
}

/// The values of XMP properties while a document is parsed. The first value of a property counts.
private final class Reader {
  static let separator = CChar(UInt8(ascii: "|"))
  private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#|"
  private static let properties: [String: Document.Entry] = [
    "http://purl.org/dc/elements/1.1/|title": .title,
    "http://purl.org/dc/elements/1.1/|creator": .author,
    "http://purl.org/dc/elements/1.1/|description": .subject,
    "http://ns.adobe.com/pdf/1.3/|Keywords": .keywords,
    "http://ns.adobe.com/xap/1.0/|CreatorTool": .creator,
    "http://ns.adobe.com/pdf/1.3/|Producer": .producer,
    "http://ns.adobe.com/xap/1.0/|CreateDate": .created,
    "http://ns.adobe.com/xap/1.0/|ModifyDate": .modified,
  ]
  /// The longest text of a property, in bytes; what follows is not read.
  private static let limit = 16_000

  private(set) var values: [Document.Entry: String] = [:]
  /// Whether the parser reached the end of the description.
  private(set) var isWhole = false
  private let parser: XML_Parser
  private var path: [String] = []
  private var property: (entry: Document.Entry, depth: Int)?
  private var text = ""
  private var items: [String] = []
  /// The item in the default language.
  private var chosen: String?
  private var isChosen = false
  /// Whether the items are one text in several languages.
  private var hasAlternatives = false

  init(_ parser: XML_Parser) {
    self.parser = parser
  }

  static func of(_ data: UnsafeMutableRawPointer?) -> Reader? {
    data.map { Unmanaged<Reader>.fromOpaque($0).takeUnretainedValue() }
  }

  func open(_ name: UnsafePointer<CChar>?, _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
    guard let name = name.map({ String(cString: $0) }) else { return }
    let parent = path.last
    path.append(name)
    // Deeper documents are not descriptions.
    if path.count > 100 { return stop() }
    if property != nil {
      if name == Self.rdf + "Alt" { hasAlternatives = true }
      if name == Self.rdf + "li" {
        text = ""
        isChosen = false
        visit(attributes) { key, value in
          if key == "http://www.w3.org/XML/1998/namespace|lang", value == "x-default" { isChosen = true }
        }
      }
    } else if parent == Self.rdf + "Description", let entry = Self.properties[name] {
      property = (entry, path.count)
      (text, items, chosen, hasAlternatives) = ("", [], nil, false)
    } else if name == Self.rdf + "Description" {
      visit(attributes) { key, value in
        if let entry = Self.properties[key] { keep(value, entry) }
      }
    }
  }

  func read(_ piece: UnsafePointer<CChar>?, _ count: Int32) {
    guard property != nil, let piece, text.utf8.count < Self.limit else { return }
    text += String(decoding: UnsafeRawBufferPointer(start: piece, count: Int(count)), as: UTF8.self)
  }

  func close() {
    let name = path.popLast()
    if name == Self.rdf + "RDF" {
      isWhole = true
      return stop()
    }
    guard let property else { return }
    if name == Self.rdf + "li" {
      if isChosen { chosen = text }
      if items.count < 100 { items.append(text) }
      text = ""
    } else if path.count < property.depth {
      let value =
        items.isEmpty ? text : hasAlternatives ? chosen ?? items[0] : items.joined(separator: ", ")
      keep(value, property.entry)
      self.property = nil
    }
  }

  private func keep(_ value: String, _ entry: Document.Entry) {
    if values[entry] == nil { values[entry] = value }
  }

  private func stop() { XML_StopParser(parser, 0) }

  private func visit(
    _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ body: (String, String) -> Void
  ) {
    guard var next = attributes else { return }
    while let key = next[0], let value = next[1] {
      body(String(cString: key), String(cString: value))
      next += 2
    }
  }
}
