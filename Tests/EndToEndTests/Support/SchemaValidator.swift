import Foundation

/// Compares JSON with a schema, by the keywords that the schema of events has. Others are an error, so that none is
/// passed over.
struct SchemaValidator {
  struct UnknownKeyword: Error {
    var name: String
  }

  private let root: JSON
  private static let notes: Set<String> = ["$schema", "$id", "title", "description"]

  init(_ schema: String) throws {
    root = try JSON(schema)
  }

  /// What is wrong, each with its place; empty: nothing.
  func problems(_ text: String) throws -> [String] { try Self.problems(JSON(text), root, "event") }

  private static func problems(_ value: JSON, _ schema: JSON, _ place: String) throws -> [String] {
    var found: [String] = []
    for (keyword, rule) in schema.members where !notes.contains(keyword) {
      switch keyword {
      case "type":
        let types = rule.text.map { [$0] } ?? rule.elements.compactMap(\.text)
        if !types.contains(where: { isOf($0, value) }) { found.append("\(place) is not \(types)") }
      case "enum":
        if !rule.elements.contains(value) { found.append("\(place) is none of its choices") }
      case "pattern":
        guard let text = value.text, let pattern = rule.text else { continue }
        if text.range(of: pattern, options: .regularExpression) == nil {
          found.append("\(place) is not \(pattern)")
        }
      case "minimum":
        if case .number(let number) = value, case .number(let least) = rule, number < least {
          found.append("\(place) is less than \(least)")
        }
      case "required":
        guard case .object(let members) = value else { continue }
        for name in rule.elements.compactMap(\.text) where members[name] == nil {
          found.append("\(place) lacks \(name)")
        }
      case "properties":
        for (name, member) in value.members where rule.members[name] != nil {
          found += try problems(member, rule[name], "\(place).\(name)")
        }
      case "items":
        for (number, element) in value.elements.enumerated() {
          found += try problems(element, rule, "\(place)[\(number)]")
        }
      case "additionalProperties":
        for (name, member) in value.members where schema["properties"].members[name] == nil {
          found += try problems(member, rule, "\(place).\(name)")
        }
      default: throw UnknownKeyword(name: keyword)
      }
    }
    return found
  }

  private static func isOf(_ type: String, _ value: JSON) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .boolean), ("number", .number), ("string", .string), ("array", .array),
      ("object", .object):
      true
    case ("integer", .number(let number)): number == number.rounded()
    default: false
    }
  }
}
