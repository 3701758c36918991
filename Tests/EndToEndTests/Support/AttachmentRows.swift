import SQLite

/// The ledger's rows of attachments, for tests that continue from there. Judging them is the task of
/// `Witness`.
struct AttachmentRows {
  struct Row {
    var source: String
    var status: String
    var url: String?
    var id: String
  }

  /// In order of intake.
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
