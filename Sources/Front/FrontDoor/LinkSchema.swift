import LedgerPort
import LedgerSQLite

/// What the body of a request to fetch a link may have, as JSON Schema.
struct LinkSchema: IntakeVisitor {
  private var members: [String] = []

  /// A member each, joined by commas.
  static let properties: String = {
    var schema = LinkSchema()
    var item = IntakeItem()
    item.visit(&schema)
    return schema.members.joined(separator: ",")
  }()

  /// For files alone.
  private static let left: Set<String> = ["path"]

  private mutating func add(_ field: IntakeField, _ schema: String) {
    if !field.isKey || Self.left.contains(field.name) { return }
    let special = ["url": #"{"type":"string","format":"uri"}"#, "method": #"{"enum":["GET","POST"]}"#]
    members.append("\"\(field.name)\":\(special[field.name] ?? schema)")
  }

  private static let text = #"{"type":"string"}"#
  private static let number = #"{"type":"integer"}"#

  mutating func visit(_ field: IntakeField, _ value: inout String) { add(field, Self.text) }
  mutating func visit(_ field: IntakeField, _ value: inout String?) { add(field, Self.text) }
  mutating func visit(_ field: IntakeField, _ value: inout [String]) {
    add(field, #"{"type":"array","items":\#(Self.text)}"#)
  }
  mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) { add(field, Self.text) }
  mutating func visit(_ field: IntakeField, _ value: inout Int64) { add(field, Self.number) }
  mutating func visit(_ field: IntakeField, _ value: inout Int64?) { add(field, Self.number) }
  mutating func visit(_ field: IntakeField, _ value: inout Bool) { add(field, #"{"type":"boolean"}"#) }
}
