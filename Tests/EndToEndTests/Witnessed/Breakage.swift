import Foundation
import Testing

/// One broken promise of a home, and exactly what the witness must report.
struct Breakage {
  var what: String
  var rules: Set<String>
  /// What else the witness is asked.
  var asks: [String]
  var make: (WitnessedHome) throws -> Void

  init(
    _ what: String, _ rules: Set<String>, asks: [String] = [],
    _ make: @escaping (WitnessedHome) throws -> Void
  ) {
    (self.what, self.rules, self.asks, self.make) = (what, rules, asks, make)
  }

  static var all: [Breakage] {
    [
      ledger, accepted, states, objects, deliveries, events, calls, leases, backlog, conversations,
    ].flatMap { $0 }
  }

  static let a = "(SELECT key FROM attachments WHERE file_name = 'a.txt')"
  private static let rejected = "(SELECT key FROM attachments WHERE file_name = 's.sh')"
  /// The key of the attachment left leased by a killed coordinator.
  private static let held = "(SELECT key FROM attachments WHERE file_name = 'zz.txt')"
  /// One delivery to the file of events, and one to the webhook.
  static let line = "(SELECT min(key) FROM deliveries WHERE channel = 'events')"
  static let call = "(SELECT min(key) FROM deliveries WHERE channel = 'hook')"

  // MARK: The ledger

  private static var ledger: [Breakage] {
    [
      Breakage("the ledger is no database", ["ledger-unreadable"]) { home in
        try home.folder.write("var/sluice.db", String(repeating: "no database\n", count: 1000))
      },
      Breakage("the ledger is gone", ["ledger-unreadable"]) { home in
        for end in ["", "-wal", "-shm"] { unlink(home.folder.path + "/var/sluice.db" + end) }
      },
      Breakage("an index is lost", ["integrity"]) { home in
        try home.sql("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'jobs_due'")
      },
      Breakage("a row belongs to nothing", ["integrity"]) { home in
        try home.sql(
          """
          INSERT INTO attempts (attachment_key, number, said, recorded_at) VALUES (99999, 1, '[["mime","pass",null,null,1]]', 1)
          """)
      },
      Breakage(
        "a state that does not exist",
        [
          "row-malformed", "state-other", "count-wrong", "state-second", "event-wrong",
          "call-wrong",
        ]
      ) {
        try $0.sql("UPDATE attachments SET status = 'done' WHERE key = \(a)")
      },
      Breakage("ended at no time", ["row-malformed"]) {
        try $0.sql("UPDATE attachments SET finished_at = NULL WHERE key = \(a)")
      },
      Breakage("rejected for no reason", ["row-malformed", "state-unexplained"]) {
        try $0.sql("UPDATE attachments SET reason_code = NULL WHERE key = \(rejected)")
      },
      Breakage("two rows where one belongs", ["row-malformed"]) {
        try $0.sql(
          """
          CREATE TEMP TABLE copy AS SELECT * FROM ledger;
          UPDATE copy SET only = 2;
          INSERT INTO ledger SELECT * FROM copy
          """)
      },
      Breakage("a count of attachments", ["count-wrong"]) {
        try $0.sql("UPDATE counts SET attachments = attachments + 1 WHERE status = 'completed'")
      },
      Breakage("a count of bytes", ["count-wrong"]) {
        try $0.sql("UPDATE counts SET bytes = bytes - 1 WHERE status = 'rejected'")
      },
      Breakage("a count is missing", ["count-wrong"]) {
        try $0.sql("DELETE FROM counts WHERE status = 'quarantined'")
      },
    ]
  }

  // MARK: What was accepted

  private static var accepted: [Breakage] {
    [
      Breakage("told of, and not known", ["lost"]) { home in
        try home.tellAgain("a.txt") { $0["id"] = "01a1fe74-5811-7572-b156-01aea7c663c5" }
      },
      Breakage("handed in, and not known", ["lost"]) { home in
        try home.journal { $0.append(["saw": "told", "record": offer("/in/another.txt")]) }
      },
      Breakage("taken in twice", ["doubled", "lost"]) { home in
        try home.sql(
          "UPDATE attachments SET source = (SELECT source FROM attachments WHERE key = \(a)) WHERE file_name = 'b.txt'"
        )
      },
      Breakage("one id for two", ["doubled", "lost", "event-wrong", "call-wrong"]) { home in
        try home.sql(
          """
          DROP INDEX attachments_by_id;
          UPDATE attachments SET id = (SELECT id FROM attachments WHERE key = \(a)) WHERE file_name = 'b.txt'
          """)
      },
      Breakage("nobody handed it in", ["uninvited"]) { home in
        try home.journal { entries in
          entries.removeAll {
            (($0["record"] as? [String: Any])?["source"] as? String)?.hasSuffix("/b.txt") == true
              && ($0["record"] as? [String: Any])?["record"] as? String == "offer"
          }
        }
      },
      Breakage("another state than it may have", ["state-other"]) { home in
        let source = try home.value("CAST(source AS TEXT)", of: "a.txt")
        try home.journal { $0.append(["saw": "told", "record": offer(source, "rejected")]) }
      },
      Breakage("another state than was told", ["state-other", "state-second"]) { home in
        try home.tellAgain("a.txt") { $0["status"] = "failed" }
      },
      Breakage("another place than was told", ["place-other"]) { home in
        try home.tellAgain("a.txt") { $0["url"] = "elsewhere.txt" }
      },
      Breakage("another hash than was told", ["place-other"]) { home in
        try home.tellAgain("a.txt") { $0["sha256"] = String(repeating: "0", count: 64) }
      },
      Breakage("a summary that cannot count", ["summary-wrong"]) { home in
        try home.journal { entries in
          let index = try #require(
            entries.lastIndex { ($0["record"] as? [String: Any])?["record"] as? String == "summary" })
          var record = try #require(entries[index]["record"] as? [String: Any])
          record["completed"] = 17
          entries[index]["record"] = record
        }
      },
    ]
  }

  private static func offer(_ source: String, _ status: String = "completed") -> [String: Any] {
    ["record": "offer", "source": source, "statuses": [status]]
  }

  // MARK: One state, reached as it must be

  private static var states: [Breakage] {
    [
      Breakage("ended, and still in the queue", ["state-second", "job-left"]) { home in
        try home.sql(
          "INSERT INTO jobs (kind, subject, lane, priority, state, due_at, attempts) VALUES ('attachment', \(a), 1, 0, 'due', 1, 1)"
        )
      },
      Breakage("an event of another state", ["state-second", "event-wrong", "call-wrong"]) { home in
        try home.sql(
          "UPDATE events SET data = json_set(data, '$.status', 'failed') WHERE attachment_key = \(a)")
      },
      Breakage("completed by a stage that said no", ["state-unexplained"]) { home in
        try home.sql(
          "UPDATE attempts SET said = json_replace(said, '$[1][1]', 'reject') WHERE attachment_key = \(a)")
      },
      Breakage("completed by nobody", ["state-unexplained"]) { home in
        try home.sql("DELETE FROM attempts WHERE attachment_key = \(a)")
      },
      Breakage("rejected by nobody", ["state-unexplained"]) { home in
        try home.sql(
          "UPDATE attempts SET said = replace(said, '\"reject\",\"', '\"reject\",\"another-') WHERE attachment_key = \(rejected)"
        )
      },
      Breakage(
        "completed, and nowhere",
        ["place-none", "place-other", "name-count", "orphan", "event-wrong", "call-wrong"]
      ) {
        home in
        try home.sql("UPDATE attachments SET url = NULL WHERE key = \(a)")
      },
      Breakage(
        "one place for two",
        ["place-shared", "place-other", "name-count", "orphan", "event-wrong", "call-wrong"]
      ) {
        home in
        let place = try home.value("url", of: "b.txt")
        try home.sql("UPDATE attachments SET url = '\(place)' WHERE file_name = 'twin.txt'")
      },
    ]
  }

  // MARK: Objects

  private static var objects: [Breakage] {
    [
      Breakage("an object is gone", ["object-missing", "object-gone"]) { home in
        unlink(home.object(try home.value("url", of: "a.txt")))
      },
      Breakage("an object never came", ["object-missing"]) { home in
        let url = try home.value("url", of: "a.txt")
        unlink(home.object(url))
        try home.journal { $0.removeAll { $0["path"] as? String == url } }
      },
      Breakage("a byte is altered", ["object-altered", "object-gone"]) { home in
        try Data("the fIrst\n".utf8).write(
          to: URL(fileURLWithPath: home.object(try home.value("url", of: "a.txt"))))
      },
      Breakage("a byte is missing", ["object-altered", "object-gone"]) { home in
        truncate(home.object(try home.value("url", of: "a.txt")), 9)
      },
      Breakage("a link in place of an object", ["object-missing", "object-strange", "object-gone"]) { home in
        let path = home.object(try home.value("url", of: "a.txt"))
        try FileManager.default.moveItem(atPath: path, toPath: home.folder.path + "/elsewhere")
        symlink(home.folder.path + "/elsewhere", path)
      },
      Breakage("an object without a row", ["orphan"]) {
        try $0.folder.write("var/store/documents/orphan", "mine\n")
      },
      Breakage("an object that waits for nothing", ["leftover"]) { home in
        try home.folder.write("var/store/.incoming/\(try home.value("id", of: "a.txt"))", "the first\n")
      },
      Breakage("an object that was seen elsewhere", ["object-gone"]) { home in
        try home.journal { $0.append(["saw": "object", "path": "another", "sha256": "00", "size": 1]) }
      },
    ]
  }

  // MARK: Leases

  private static var leases: [Breakage] {
    [
      Breakage("a result that came after the end", ["result-stale"]) { home in
        try home.sql(
          """
          INSERT INTO attempts SELECT attachment_key, number + 1, said, recorded_at + 1 FROM attempts WHERE attachment_key = \(a)
          """)
      },
      Breakage("a result that came after a later one", ["result-stale"]) { home in
        try home.sql(
          """
          INSERT INTO attempts SELECT attachment_key, number - 1, said, recorded_at + 1 FROM attempts WHERE attachment_key = \(held)
          """)
      },
      Breakage("an end that is of no result", ["result-stale"]) { home in
        try home.sql("UPDATE attachments SET finished_at = finished_at + 1 WHERE key = \(a)")
      },
      // The killed coordinator's lease is in the journal: attempt 1 of the leased attachment.
      Breakage("a result of a lease that was lost", ["result-stale"]) { home in
        try home.sql(
          """
          INSERT INTO attempts SELECT attachment_key, 1, said, recorded_at - 1 FROM attempts WHERE attachment_key = \(held)
          """)
      },
      Breakage("an end by a lease that was lost", ["result-stale"]) { home in
        try home.sql("UPDATE attempts SET number = 1 WHERE attachment_key = \(held)")
      },
      Breakage("an end by a lease before the one that was lost", ["result-stale"]) { home in
        try home.sql("UPDATE attempts SET number = 0 WHERE attachment_key = \(held)")
      },
      Breakage("a coordinator that went back", ["lease-wrong"]) {
        try $0.sql("UPDATE ledger SET holder = 0")
      },
      Breakage("more attempts on record than were begun", ["lease-wrong", "state-second", "job-left"]) {
        home in
        try home.sql(
          "INSERT INTO jobs (kind, subject, lane, priority, state, due_at) VALUES ('attachment', \(a), 1, 0, 'due', 1)"
        )
      },
      Breakage("a lease ahead of all coordinators", ["lease-wrong", "delivery-doubled", "job-left"]) { home in
        try home.sql(
          """
          INSERT INTO jobs (kind, subject, lane, priority, state, due_at, holder, token)
            SELECT 'delivery', \(call), key, 0, 'leased', 1, 1000000, 1 FROM lanes WHERE name = 'hook'
          """)
      },
    ]
  }

  // MARK: The backlog

  private static var backlog: [Breakage] {
    [
      Breakage("waits, and nothing will come", ["job-missing"]) { home in
        try home.sql("UPDATE deliveries SET status = 'pending', finished_at = NULL WHERE key = \(call)")
      },
      Breakage("something is left to do", ["job-left"]) { home in
        try home.sql(
          """
          UPDATE deliveries SET status = 'pending', finished_at = NULL WHERE key = \(call);
          INSERT INTO jobs (kind, subject, lane, priority, state, due_at)
            SELECT 'delivery', \(call), key, 0, 'due', 1 FROM lanes WHERE name = 'hook'
          """)
      },
      Breakage("a lane that is paused", ["lane-paused"]) { home in
        try home.sql(
          """
          INSERT INTO pauses (lane, cause, code, reason, paused_by, paused_at)
            VALUES (1, 'person', 'disk-full', 'no room', 'ann', 1)
          """)
      },
    ]
  }
}
