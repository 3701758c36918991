import Foundation
import Testing

// Promises about deliveries.
extension Breakage {
  // MARK: Deliveries

  static var deliveries: [Breakage] {
    [
      Breakage("a delivery is forgotten", ["delivery-missing", "event-unknown"]) { home in
        try home.sql("DELETE FROM deliveries WHERE key = \(line)")
      },
      Breakage(
        "all deliveries of an attachment are forgotten",
        ["delivery-missing", "event-unknown", "call-unknown"]
      ) {
        try $0.sql(
          """
          DELETE FROM deliveries WHERE event_key = (SELECT key FROM events WHERE attachment_key = \(a));
          DELETE FROM events WHERE attachment_key = \(a)
          """)
      },
      Breakage(
        "somebody else is told", ["delivery-uninvited", "delivery-missing", "event-wrong", "call-wrong"]
      ) { home in
        try home.sql(
          "UPDATE deliveries SET recipient = 'mallory' WHERE id = (SELECT id FROM deliveries WHERE key = \(line))"
        )
      },
      Breakage("a second delivery of the same", ["delivery-doubled", "event-missing"]) { home in
        try home.sql(
          """
          DROP INDEX deliveries_once;
          INSERT INTO deliveries (id, event_key, channel, recipient, status, finished_at)
            SELECT '01a1fe74-5811-7572-b156-01aea7c663c5', event_key, channel, recipient, status, finished_at
            FROM deliveries WHERE key = \(line)
          """)
      },
      Breakage("delivered, and still in the queue", ["delivery-doubled", "job-left"]) { home in
        try home.sql(
          """
          INSERT INTO jobs (kind, subject, lane, priority, state, due_at)
            SELECT 'delivery', \(call), key, 0, 'due', 1 FROM lanes WHERE name = 'hook'
          """)
      },
      Breakage("a delivery is given up", ["delivery-dead"]) { home in
        try home.sql("UPDATE deliveries SET status = 'dead', reason_code = 'unreachable' WHERE key = \(call)")
      },
      Breakage("one id for two events", ["id-doubled", "event-unknown", "event-wrong"]) { home in
        try home.sql(
          """
          UPDATE deliveries SET id = (SELECT id FROM deliveries WHERE key = \(line))
            WHERE key = (SELECT max(key) FROM deliveries WHERE channel = 'events')
          """)
      },
    ]
  }

  // MARK: Files of events

  static var events: [Breakage] {
    [
      Breakage("an event is not there", ["event-missing", "event-gone"]) { home in
        try home.events { $0.removeFirst() }
      },
      Breakage("an event never came", ["event-missing"]) { home in
        try home.events { lines in
          let id = lines.removeLast().dropFirst(7).prefix(36)
          try home.journal {
            $0.removeAll { $0["saw"] as? String == "event" && $0["id"] as? String == String(id) }
          }
        }
      },
      Breakage("an event's id is there twice", ["event-doubled"]) { home in
        try home.events { $0.append($0[0]) }
      },
      Breakage("an event nobody knows", ["event-unknown"]) { home in
        try home.events { lines in
          lines.append(lines[0].replacingOccurrences(of: lines[0].dropFirst(7).prefix(36), with: "an-id"))
        }
      },
      Breakage("an event for another recipient", ["event-wrong", "event-gone"]) { home in
        try home.events { lines in
          lines[0] = lines[0].replacingOccurrences(of: "\"ben\"", with: "\"eva2\"")
            .replacingOccurrences(of: "\"eva\"", with: "\"ben2\"")
        }
      },
      Breakage("an event with other metadata", ["event-wrong", "event-gone"]) { home in
        try home.events {
          $0[0] = $0[0].replacingOccurrences(of: "\"metadata\":{", with: "\"metadata\":{\"x\":1,")
        }
      },
      Breakage("half a line in the end", ["event-torn"]) { home in
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home.eventsFile))
        try file.seekToEnd()
        try file.write(contentsOf: Data("{\"id\":\"".utf8))
      },
      Breakage("a line that is no event", ["event-torn"]) { home in
        try home.events { $0.insert("\0\0{}", at: 1) }
      },
      Breakage("an event that was seen and is gone", ["event-gone"]) { home in
        try home.journal { $0.append(["saw": "event", "channel": "events", "id": "an-id", "line": "00"]) }
      },
    ]
  }

  // MARK: Webhooks

  static var calls: [Breakage] {
    [
      Breakage("a call never came", ["call-missing"]) { home in try home.forgetCall() },
      Breakage("a call nobody knows", ["call-unknown"]) { home in try home.callAgain { $0["id"] = "an-id" } },
      Breakage("the same call with other words", ["call-wrong"]) { home in
        try home.callAgain { $0["body"] = "\($0["body"] ?? "") " }
      },
      Breakage("a call with other words", ["call-wrong"]) { home in
        try home.journal { entries in
          let index = try #require(entries.firstIndex { $0["saw"] as? String == "call" })
          entries[index]["body"] = "{\"id\":\"\(entries[index]["id"] ?? "")\"}"
        }
      },
    ]
  }
}

extension WitnessedHome {
  /// Removes one delivery's calls from the journal.
  fileprivate func forgetCall() throws {
    let id = try value("SELECT id FROM deliveries WHERE channel = 'hook' ORDER BY key LIMIT 1")
    try journal { $0.removeAll { $0["saw"] as? String == "call" && $0["id"] as? String == id } }
  }

  /// Adds a modified copy of the first call to the journal.
  fileprivate func callAgain(_ change: (inout [String: Any]) -> Void) throws {
    try journal { entries in
      var call = try #require(entries.first { $0["saw"] as? String == "call" })
      change(&call)
      entries.append(call)
    }
  }
}
