import Pipeline
import SQLite

/// Metadata as stored in the ledger, a JSON object, parsed. SQLite parses it, as it parses manifests.
enum MetadataText {
  /// The members with their types.
  static func data(_ json: String) throws -> [Metadatum] {
    var data: [Metadatum] = []
    let sql = "SELECT key, type, value FROM json_each(?1)"
    try Connection(":memory:").prepare(sql).rows(.text(json)) { row in
      let value: MetadataValue
      switch row.text(1) {
      case "integer": value = .integer(row.integer(2))
      case "real": value = .number(Double(row.text(2)) ?? 0)
      case "true", "false": value = .boolean(row.text(1) == "true")
      default: value = .text(row.text(2))
      }
      data.append(Metadatum(key: row.text(0), value: value))
    }
    return data
  }

  /// The members as texts, in their order.
  static func members(_ json: String) throws -> [(key: String, value: String)] {
    var members: [(key: String, value: String)] = []
    let sql = "SELECT key, CASE WHEN type IN ('true', 'false') THEN type ELSE value END FROM json_each(?1)"
    try Connection(":memory:").prepare(sql).rows(.text(json)) { members.append(($0.text(0), $0.text(1))) }
    return members
  }
}
