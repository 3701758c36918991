import Pipeline
import Platform

/// Reads the input of a case: content, or an event.
extension CaseReader {
  /// The largest size to which a case may repeat a text, in bytes.
  private static let largestText = 64 << 20
  private static let largest = ByteSize.text(Int64(largestText))

  private static let remedy = "write a file's path, or { text: … }, { base64: … } or { zeros: 11MB }"

  mutating func readInput(_ node: Node?) -> Case.Input? {
    switch node?.content {
    case nil: return nil
    case .scalar(let scalar)? where !scalar.isNull: return .file(scalar.text)
    case .sequence(let pieces)?: return readPieces(pieces)
    case _?: return node.flatMap { readPiece($0) }
    }
  }

  /// Reads several pieces, concatenated.
  private mutating func readPieces(_ pieces: [Node]) -> Case.Input? {
    var bytes: [UInt8] = []
    for piece in pieces {
      switch readPiece(piece) {
      case .bytes(let more)?: bytes += more
      case .zeros(let count)?: bytes += repeatElement(0, count: Int(min(count, Int64(Self.largestText) + 1)))
      case .file?, nil: return nil
      }
      if bytes.count > Self.largestText {
        findings.report(piece.mark, "the pieces come to more than \(Self.largest)", "write fewer")
        return nil
      }
    }
    return .bytes(bytes)
  }

  private mutating func readPiece(_ node: Node) -> Case.Input? {
    guard let section = section(node, "input", CaseGrammar.input, Self.remedy) else { return nil }
    let given = CaseGrammar.contents.filter { section[$0] != nil }
    if given.count != 1 {
      // A misspelt key has been reported already.
      if given.count > 1 || section.unknown.isEmpty {
        findings.report(node.mark, "'input' is one thing, not \(given.count)", Self.remedy)
      }
      return nil
    }
    if let zeros = section.readOne(CaseGrammar.zeros, &findings) {
      if let times = section["times"] {
        findings.report(times.mark, "'times' repeats a text or base64", "write all of it under 'zeros'")
      }
      return .zeros(zeros.value.integer)
    }
    if let text = section["text"].flatMap({ readText($0, "text") }) {
      return repeated(Array(text.utf8), section).map { .bytes($0) }
    }
    guard let base64 = section.readOne(CaseGrammar.text("base64", example: "aGVsbG8="), &findings) else {
      return nil
    }
    if let bytes = Base64.bytes(base64.value.text) { return repeated(bytes, section).map { .bytes($0) } }
    findings.report(base64.mark, "this is not base64 (RFC 4648, section 4)", "make it with 'base64 FILE'")
    return nil
  }

  mutating func readEvent(_ node: Node?) -> Case.Event? {
    guard let section = section(node, "event", CaseGrammar.event, "write { type: attachment.completed }")
    else {
      return nil
    }
    var event = Case.Event()
    if let id = text(section, "id", event.id) { event.id = id }
    if let type = text(section, "type", event.type) { event.type = type }
    if let recipient = text(section, "recipient", event.recipient) { event.recipient = recipient }
    event.body = section["body"].flatMap { readBody($0) }
    return event
  }

  private mutating func readBody(_ node: Node) -> String? {
    guard case .mapping = node.content else { return readText(node, "body") }
    guard let section = section(node, "body", CaseGrammar.body, "write a text, or { text: … }") else {
      return nil
    }
    guard let text = section["text"].flatMap({ readText($0, "text") }) else {
      if section["text"] == nil && section.unknown.isEmpty {
        findings.report(node.mark, "'body' has no text", "write { text: … }")
      }
      return nil
    }
    return repeated(Array(text.utf8), section).map { String(decoding: $0, as: UTF8.self) }
  }

  /// A text, which may be empty.
  private mutating func readText(_ node: Node, _ name: String) -> String? {
    switch node.content {
    case .unusable: return nil
    case .scalar(let scalar): return scalar.isNull ? "" : scalar.text
    default:
      findings.report(node.mark, "'\(name)' is a text, not \(node.noun)", "put it in quotes")
      return nil
    }
  }

  /// Repeats the bytes `times` times.
  private mutating func repeated(_ bytes: [UInt8], _ section: Section) -> [UInt8]? {
    guard let times = section.readOne(CaseGrammar.times, &findings) else { return bytes }
    let (count, overflows) = bytes.count.multipliedReportingOverflow(by: Int(times.value.integer))
    if overflows || count > Self.largestText {
      findings.report(
        times.mark, "that comes to more than \(Self.largest)", "write fewer times")
      return nil
    }
    guard count > 0 else { return [] }
    // Doubled, since `joined()` takes bytes one by one: seconds for the longest text.
    var result = bytes
    while result.count <= count / 2 { result += result }
    return result + result.prefix(count - result.count)
  }
}
