import JSONText
import LedgerPort
import Platform

/// The members of a JSON object in a body. An unknown member may be a misspelt name, and is refused.
struct BodyMembers {
  private var found: [String: JSONParser.Member] = [:]
  private let parser: JSONParser

  /// - Parameter names: that it may have.
  init(_ body: [UInt8], _ names: [String], _ parser: JSONParser) throws(Problem) {
    self.parser = parser
    guard let text = String(validating: body, as: UTF8.self), !JSONParser.holdsNUL(body[...]),
      !JSONParser.holdsLoneSurrogate(body[...]),
      (try? parser.isObject(text)) == true, let members = try? parser.members(text)
    else {
      throw Problem(
        400, "invalid-body",
        "the body is a JSON object in UTF-8, without NUL characters and halves of characters")
    }
    for member in members {
      guard names.contains(member.key) else {
        throw Problem(
          400, "invalid-body", "in the body: there is no '\(PrintableText.of(member.key))' here",
          remedy: "its members are \(names.joined(separator: ", "))")
      }
      if found.updateValue(member, forKey: member.key) != nil {
        throw Problem(400, "invalid-body", "in the body: '\(member.key)' stands there twice")
      }
    }
  }

  private func invalid(_ name: String, _ text: String) -> Problem {
    Problem(400, "invalid-body", "in the body: '\(name)' \(text)")
  }

  /// `nil`: it is not there, or null.
  private func member(_ name: String) -> JSONParser.Member? {
    found[name].flatMap { $0.kind == .null ? nil : $0 }
  }

  func has(_ name: String) -> Bool { found[name] != nil }

  func text(_ name: String) throws(Problem) -> String? {
    guard let member = member(name) else { return nil }
    if member.kind != .text { throw invalid(name, "is a text") }
    return member.text
  }

  func number(_ name: String, least: Int64) throws(Problem) -> Int64? {
    guard let member = member(name) else { return nil }
    if member.kind != .integer || member.integer < least {
      throw invalid(name, "is a number, \(least) or more")
    }
    return member.integer
  }

  func boolean(_ name: String) throws(Problem) -> Bool? {
    guard let member = member(name) else { return nil }
    if member.kind != .true && member.kind != .false { throw invalid(name, "is true or false") }
    return member.kind == .true
  }

  func texts(_ name: String) throws(Problem) -> [String]? {
    guard let member = member(name) else { return nil }
    guard member.kind == .array, let texts = JSONStrings.read(member.text) else {
      throw invalid(name, "is an array of texts")
    }
    return texts
  }

  func choice<Case: RawRepresentable<String> & CaseIterable>(_ name: String) throws(Problem) -> Case? {
    guard let text = try text(name) else { return nil }
    guard let one = Case(rawValue: text) else {
      throw invalid(name, "is one of \(Case.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return one
  }

  /// A time as RFC 3339 writes it, in milliseconds since 1970.
  func time(_ name: String) throws(Problem) -> Int64? {
    guard let text = try text(name) else { return nil }
    guard let time = Self.time(text), (0...Self.lastTime).contains(time) else {
      throw invalid(name, "is a time, such as 2026-01-31T08:00:00Z or 2026-01-31T09:00:00+01:00")
    }
    return time
  }

  /// The end of the year 9999: RFC 3339 writes no later time.
  private static let lastTime: Int64 = 253_402_300_799_999

  private static func time(_ text: String) -> Int64? {
    guard text.contains("T") else { return nil }
    if text.hasSuffix("Z") { return Clock.milliseconds(ofTimestamp: text) }
    let offset = Array(text.utf8.suffix(6))
    guard offset.count == 6, offset[3] == UInt8(ascii: ":"),
      let sign: Int64 = offset[0] == UInt8(ascii: "+") ? 1 : offset[0] == UInt8(ascii: "-") ? -1 : nil,
      let hours = Int64(String(decoding: offset[1...2], as: UTF8.self)), (0...23).contains(hours),
      let minutes = Int64(String(decoding: offset[4...5], as: UTF8.self)), (0...59).contains(minutes),
      let local = Clock.milliseconds(ofTimestamp: text.dropLast(6) + "Z")
    else { return nil }
    return local - sign * (hours * 60 + minutes) * 60_000
  }

  func required<Value>(_ name: String, _ value: Value?) throws(Problem) -> Value {
    guard let value else { throw invalid(name, "has to be said") }
    return value
  }
}
