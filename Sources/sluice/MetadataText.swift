import SQLite

/// Metadata as it is printed.
enum MetadataText {
  /// The members of a JSON object as texts, in its order. SQLite takes it apart, as it does manifests.
  static func members(_ json: String) throws -> [(key: String, value: String)] {
    var members: [(key: String, value: String)] = []
    let sql = "SELECT key, CASE WHEN type IN ('true', 'false') THEN type ELSE value END FROM json_each(?1)"
    try Connection(":memory:").prepare(sql).rows(.text(json)) { members.append(($0.text(0), $0.text(1))) }
    return members
  }
}
