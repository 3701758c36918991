import Pipeline
import Platform
import SQLite

/// Metadata as it is printed.
enum MetadataText {
  /// A JSON object, in the order it was recorded.
  static func json(_ metadata: [Metadatum]) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      for datum in metadata {
        writer.key(datum.key)
        switch datum.value {
        case .text(let value): writer.value(value)
        case .integer(let value): writer.value(value)
        case .number(let value): writer.value(value)
        case .boolean(let value): writer.value(value)
        }
      }
    }
    return writer.text
  }

  /// The members of such an object as texts. SQLite takes it apart, as it does manifests.
  static func members(_ json: String) throws -> [(key: String, value: String)] {
    var members: [(key: String, value: String)] = []
    let sql = "SELECT key, CASE WHEN type IN ('true', 'false') THEN type ELSE value END FROM json_each(?1)"
    try Connection(":memory:").prepare(sql).rows(.text(json)) { members.append(($0.text(0), $0.text(1))) }
    return members
  }
}
