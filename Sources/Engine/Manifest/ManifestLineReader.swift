import Configuration
import JSONText
import LedgerPort
import Platform

/// Reads one line of a manifest: the JSON object of an attachment. Used by one thread.
public struct ManifestLineReader: Sendable {
  private let parser: JSONParser

  public init() throws { parser = try JSONParser() }

  /// - Parameters:
  ///   - line: a JSON object in UTF-8.
  ///   - origin: where it stands, for messages.
  public func read(
    _ line: ArraySlice<UInt8>, _ origin: String, _ defaults: IntakeDefaults
  ) -> Result<IntakeItem, IntakeProblem> {
    guard let text = String(validating: line, as: UTF8.self) else {
      return .failure(IntakeProblem(origin, "not UTF-8"))
    }
    if JSONParser.holdsNUL(line) {
      return .failure(IntakeProblem(origin, "holds a NUL character; no name has one"))
    }
    if JSONParser.holdsLoneSurrogate(line) {
      return .failure(
        IntakeProblem(
          origin,
          "holds half of a surrogate pair, which is no character; a path that is not UTF-8 goes into 'pathBase64'"
        ))
    }
    do {
      return .success(try item(text, origin, defaults))
    } catch let problem as IntakeProblem {
      return .failure(problem)
    } catch {
      return .failure(IntakeProblem(origin, "not a JSON object (SQLite says: \(error))"))
    }
  }

  /// In the place of `path` for one that is not UTF-8.
  private static let pathBytes = "pathBase64"
  private static let keys = IntakeItem.keys + [pathBytes]

  private func item(_ json: String, _ origin: String, _ defaults: IntakeDefaults) throws -> IntakeItem {
    func problem(_ text: String) -> IntakeProblem { IntakeProblem(origin, text) }
    if try !parser.isObject(json) {
      throw problem("not a JSON object; write one a line, such as {\"path\": \"inbox/a.pdf\"}")
    }
    var item = IntakeItem(
      conversationId: defaults.conversationId, messageId: defaults.messageId, senderId: defaults.senderId,
      participants: defaults.participants, fileName: "", source: [], sourceSize: 0, sourceModified: 0,
      priority: defaults.priority, origin: origin)
    var members = Members(parser: parser)
    for member in try parser.members(json) {
      let key = member.key
      guard IntakeItem.keys.contains(key) || key == Self.pathBytes else {
        throw problem(
          "unknown key '\(PrintableText.of(key))'"
            + (Suggestion.nearest(to: key, among: Self.keys).map { "; did you mean '\($0)'?" }
              ?? "; the keys are \(Self.keys.joined(separator: ", "))"))
      }
      if members.found.updateValue(member, forKey: key) != nil {
        throw problem("the key '\(key)' stands there twice")
      }
    }
    do {
      try item.visit(&members)
    } catch {
      throw problem("\(error)")
    }
    if let path = members.found[Self.pathBytes] {
      guard path.kind == .text, let bytes = Base64.bytes(path.text), !bytes.isEmpty, !bytes.contains(0) else {
        throw problem("'\(Self.pathBytes)' is the Base64 of a path")
      }
      if !item.source.isEmpty { throw problem("it has 'path' and '\(Self.pathBytes)'; give one of them") }
      item.source = bytes
    }
    item.checksParticipants = defaults.checksParticipants && members.found["participants"] != nil
    if item.url != nil {
      if !item.source.isEmpty { throw problem("it has 'path' and 'url'; give one of them") }
      if members.found["fileName"] == nil { item.fileName = IntakeItem.unnamed }
      if item.link?.sha256?.isEmpty == true { throw problem("'sha256' is 64 hexadecimal digits") }
      if let fault = item.expiryFault { throw problem(fault) }
      return item
    }
    for key in ["method", "body", "credential", "size", "sha256", "expiresAt"] where members.found[key] != nil
    {
      throw problem("the key '\(key)' is for links, and there is no 'url'")
    }
    if item.source.isEmpty { throw problem("the key 'path' is missing or empty") }
    if members.found["fileName"] == nil {
      let slash = item.source.lastIndex(of: UInt8(ascii: "/")) ?? -1
      item.fileName = String(decoding: item.source[(slash + 1)...], as: UTF8.self)
    }
    return item
  }
}

/// Fills in what a line says.
private struct Members: IntakeVisitor {
  /// What is wrong with a member.
  struct Misfit: Error, CustomStringConvertible {
    var description: String
  }

  let parser: JSONParser
  /// By key.
  var found: [String: JSONParser.Member] = [:]

  private func member(
    _ field: IntakeField, _ kind: JSONParser.Member.Kind
  ) throws -> JSONParser.Member? {
    guard field.isKey, let member = found[field.name] else { return nil }
    if member.kind == kind { return member }
    throw Misfit(description: "'\(field.name)' is \(member.kind) where \(kind) is wanted")
  }

  private func checked(_ field: IntakeField, _ text: String) throws -> String {
    if let fault = field.fault(text.utf8) { throw Misfit(description: fault) }
    return text
  }

  mutating func visit(_ field: IntakeField, _ value: inout String) throws {
    if let member = try member(field, .text) { value = try checked(field, member.text) }
  }

  mutating func visit(_ field: IntakeField, _ value: inout String?) throws {
    if let member = try member(field, .text) { value = try checked(field, member.text) }
  }

  mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) throws {
    if let member = try member(field, .text) { value = Array(try checked(field, member.text).utf8) }
  }

  mutating func visit(_ field: IntakeField, _ value: inout [String]) throws {
    guard let member = try member(field, .array) else { return }
    value.removeAll()
    for element in try parser.members(member.text) {
      if element.kind != .text {
        throw Misfit(description: "'\(field.name)' holds something else than texts")
      }
      value.append(try checked(field, element.text))
    }
  }

  mutating func visit(_ field: IntakeField, _ value: inout Int64) throws {
    if let member = try member(field, .integer) { value = member.integer }
  }

  mutating func visit(_ field: IntakeField, _ value: inout Int64?) throws {
    if let member = try member(field, .integer) { value = member.integer }
  }

  /// No line has one.
  mutating func visit(_ field: IntakeField, _ value: inout Bool) {}
}
