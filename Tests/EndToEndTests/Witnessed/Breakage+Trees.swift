import Foundation
import Testing

// Promises about what stages leave beside contents, and take out of them.
extension Breakage {
  /// They are for the home of ``WitnessedHome/makeTree()``.
  static var trees: [Breakage] { derived + families + sizes + contents }

  private static let root = "(SELECT key FROM attachments WHERE file_name = 'root.txt')"
  private static let one = "(SELECT key FROM attachments WHERE file_name = 'line-1.txt' AND parent = \(root))"
  private static let two = "(SELECT key FROM attachments WHERE file_name = 'line-2.txt' AND parent = \(root))"
  private static let leaf = "(SELECT key FROM attachments WHERE parent = \(one))"

  // MARK: Derived objects

  private static var derived: [Breakage] {
    [
      Breakage("a derived object is gone", ["derived-missing"]) { home in
        unlink(home.object(try home.derived("head")))
      },
      Breakage("a byte of a derived object is altered", ["derived-altered"]) { home in
        let path = home.object(try home.derived("head"))
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        data[0] ^= 1
        try data.write(to: URL(fileURLWithPath: path))
      },
      Breakage("a derived object is longer", ["derived-altered"]) { home in
        try home.sql(
          "UPDATE derived SET size_bytes = size_bytes - 1 WHERE attachment_key = \(root) AND name = 'head'")
      },
      Breakage("a derived object of what was rejected", ["derived-astray"]) { home in
        let columns = "name, stage, media_type, size_bytes, sha256, url"
        try home.sql(
          """
          INSERT INTO derived (attachment_key, \(columns)) SELECT \(two), \(columns) FROM derived
            WHERE attachment_key = \(root);
          UPDATE names SET uses = uses + 1 WHERE path IN (SELECT url FROM derived WHERE attachment_key = \(root))
          """)
      },
      Breakage("a derived object without a row", ["orphan"]) {
        try $0.folder.write("var/store/derived/00/0000.txt", "mine")
      },
      Breakage("a derived object that waits for nothing", ["leftover"]) { home in
        try home.folder.write("var/store/.incoming/1.2.\(try home.value("id", of: "root.txt"))~head", "mine")
      },
      Breakage("a path that counts too few", ["name-count"]) { home in
        try home.sql("UPDATE names SET uses = uses - 1 WHERE path = '\(try home.derived("constant"))'")
      },
      Breakage("an object that is to be deleted, and is not", ["name-count", "orphan"]) { home in
        try home.folder.write("var/store/derived/00/0000.txt", "mine")
        try home.sql("INSERT INTO names VALUES ('derived/00/0000.txt', zeroblob(32), 0)")
      },
    ]
  }

  // MARK: Parents and children

  private static var families: [Breakage] {
    [
      // What was in it is in no tree any more.
      Breakage(
        "a parent that is not there",
        ["child-astray", "integrity", "child-lost", "children-count", "tree-count"]
      ) {
        try $0.sql("UPDATE attachments SET parent = 4711 WHERE key = \(one)")
      },
      Breakage("a parent that came after its child", ["child-astray", "child-lost", "tree-count"]) { home in
        try home.sql("UPDATE attachments SET parent = \(leaf), finished_at = finished_at WHERE key = \(leaf)")
      },
      Breakage("a child of another message", ["child-astray", "event-wrong"]) { home in
        try home.sql(
          """
          INSERT INTO messages (conversation_id, message_id, sender_id, participants, created_at)
            SELECT conversation_id, 'another', sender_id, participants, created_at FROM messages LIMIT 1;
          UPDATE attachments SET message_id = 'another' WHERE key = \(leaf)
          """)
      },
      Breakage("a parent that ended before its child", ["parent-early"]) { home in
        try home.sql(
          """
          UPDATE attachments SET finished_at = finished_at - 100000 WHERE key = \(one);
          UPDATE attempts SET recorded_at = recorded_at - 100000 WHERE attachment_key = \(one)
          """)
      },
      Breakage("a parent that says too few", ["children-count"]) { home in
        try home.sql(
          "UPDATE attachments SET metadata = json_set(metadata, '$.\"children.count\"', 2) WHERE key = \(root)"
        )
      },
      Breakage("a parent that says another state", ["children-count"]) { home in
        try home.sql(
          "UPDATE attachments SET metadata = json_set(metadata, '$.\"children.rejected\"', 0) WHERE key = \(root)"
        )
      },
      Breakage("a child was in it, and is not on record", ["child-lost"]) { home in
        try home.offerTree { $0.append("line-4.txt") }
      },
      Breakage("a child is there twice", ["child-doubled", "child-lost", "event-wrong"]) {
        try $0.sql("UPDATE attachments SET file_name = 'line-2.txt' WHERE file_name = 'line-3.txt'")
      },
      Breakage("a child was not in it", ["child-uninvited"]) { home in
        try home.offerTree { $0.removeAll { $0 == "line-1.txt/line-1.txt" } }
      },
    ]
  }

  // MARK: What is counted

  private static var sizes: [Breakage] {
    [
      Breakage("a tree that counts too few", ["tree-count"]) {
        try $0.sql("UPDATE expansions SET contents = contents - 1 WHERE attachment_key = \(root)")
      },
      Breakage("a tree that counts too many bytes", ["tree-count"]) {
        try $0.sql("UPDATE expansions SET bytes = bytes + 1 WHERE attachment_key = \(root)")
      },
      Breakage("it has ended, and waits", ["tree-count"]) {
        try $0.sql("UPDATE expansions SET waits = 1 WHERE attachment_key = \(one)")
      },
      Breakage("it waits for one that has ended", ["tree-count"]) {
        try $0.sql("UPDATE expansions SET waits = 1, open = 1 WHERE attachment_key = \(root)")
      },
    ]
      + [("--depth", "1"), ("--contents", "3"), ("--bytes", "5")].map { option, limit in
        Breakage("a tree that is larger than \(option) \(limit)", ["tree-too-large"], asks: [option, limit]) {
          _ in
        }
      }
  }

  // MARK: Contents that are not objects yet

  private static var contents: [Breakage] {
    [
      Breakage(
        "the content of a child that is queued is gone",
        [
          "content-missing", "job-missing", "count-wrong", "state-second", "parent-early", "children-count",
          "event-wrong",
        ]
      ) { home in
        // It is rejected, and is to be tried again.
        try home.sql(
          """
          UPDATE attachments SET status = 'queued', finished_at = NULL, reason_code = NULL, reason_stage = NULL,
            reason_message = NULL WHERE key = \(two)
          """)
        unlink(try home.value("SELECT CAST(source AS TEXT) FROM attachments WHERE key = \(two)"))
      },
      Breakage("a content of nothing", ["content-left"]) {
        try $0.folder.write("var/uploads/00112233445566778899aabbccddeeff", "mine")
      },
      Breakage("a content of what is completed", ["content-left"]) { home in
        let id = "00112233445566778899aabbccddeeff"
        try home.folder.write("var/uploads/" + id, "mine")
        try home.sql(
          "INSERT INTO uploads VALUES ('\(id)', 'ann', 'service', 4, '', NULL, 1, 1, '\(try home.value("id", of: "root.txt"))', NULL, NULL, NULL)"
        )
      },
    ]
  }
}

extension WitnessedHome {
  /// What comes out of its root.
  private static let tree = ["line-1.txt", "line-1.txt/line-1.txt", "line-2.txt", "line-3.txt"]

  /// A home with a tree, of which one was rejected.
  static func makeTree() throws -> WitnessedHome {
    let home = WitnessedHome(
      folder: try TemporaryFolder(),
      options: [
        "--recipients", "ben", "--events", "events=var/events.jsonl", "--depth", "2", "--contents", "4",
        "--bytes", "100",
      ])
    try home.folder.write("in/root.txt", ">one|>leaf\n>bad\n>three\n")
    try home.folder.write("pipeline.yaml", Pipelines.telling("- use: expand\n- use: derive"))
    let ingest = try SluiceCommand.run(
      [
        "ingest", "--home", "var", "--sender", "ann", "--participants", "ann,ben", "--conversation", "c1",
        "in",
      ], in: home.folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    try #require(ingest.status == 1, "the second line is rejected: \(ingest.out)\(ingest.err)")
    try home.offerTree { _ in }
    return home
  }

  fileprivate func derived(_ name: String) throws -> String {
    try value("SELECT url FROM derived WHERE name = '\(name)' ORDER BY attachment_key LIMIT 1")
  }

  /// Offers the root again, with another tree.
  fileprivate func offerTree(_ change: (inout [String]) -> Void) throws {
    var tree = Self.tree
    change(&tree)
    try witness.offer([try value("CAST(source AS TEXT)", of: "root.txt"): ["completed"]], tree: tree)
  }
}
