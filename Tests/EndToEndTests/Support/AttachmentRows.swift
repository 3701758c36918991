import SQLite

/// What a home's ledger says of its attachments, for tests that go on from there. `Witness` is who judges.
struct AttachmentRows {
  struct Row {
    var source: String
    var status: String
    var url: String?
    var id: String
  }

  /// In the order in which they were taken in.
  static func read(_ folder: TemporaryFolder, home: String = "var") throws -> [Row] {
    var rows: [Row] = []
    try Connection(folder.path + "/" + home + "/sluice.db", .readOnly).prepare(
      "SELECT source, status, url, id FROM attachments ORDER BY key"
    ).rows { row in
      rows.append(
        Row(
          source: String(decoding: row.blob(0), as: UTF8.self), status: row.text(1), url: row.optionalText(2),
          id: row.text(3)))
    }
    return rows
  }
}
