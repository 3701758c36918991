import Foundation
import Testing

/// Broken promises of a home with objects beside attachments, and contents that came out of contents.
extension Breakage {
  private static let child = "(SELECT key FROM attachments WHERE file_name = 'line-1.txt' AND parent = \(a))"

  static var trees: [Breakage] {
    [
      Breakage("an object beside an attachment is gone", ["derived-missing"]) { home in
        unlink(home.object(try head(home)))
      },
      Breakage("an object beside an attachment is another", ["derived-altered"]) { home in
        let path = "var/store/" + (try head(home))
        try home.folder.write(path, String(try home.folder.read(path).reversed()))
      },
      Breakage("an object beside an attachment has no row", ["orphan"]) { home in
        try home.sql("DELETE FROM derived WHERE attachment_key = \(a) AND name = 'head'")
      },
      Breakage("an object beside what was rejected", ["derived-astray"]) { home in
        try home.sql(
          """
          UPDATE derived SET attachment_key = (SELECT key FROM attachments WHERE status = 'rejected')
          WHERE attachment_key = \(a) AND name = 'head'
          """)
      },
      Breakage("a child is of another message", ["child-astray"]) { home in
        try home.sql(
          """
          UPDATE attachments SET message_id = (SELECT message_id FROM attachments WHERE file_name = 'b.txt')
          WHERE key = \(child)
          """)
      },
      Breakage("a child whose parent is nothing", ["child-astray", "integrity", "children-wrong"]) { home in
        try home.sql("UPDATE attachments SET parent = 99999 WHERE key = \(child)")
      },
      Breakage("one child more than came", ["children-wrong"]) { home in
        try home.sql(
          "UPDATE attachments SET metadata = json_set(metadata, '$.\"children.count\"', 1) WHERE key = \(a)")
      },
      Breakage("a parent that did not wait", ["parent-early", "result-stale"]) { home in
        try home.sql(
          """
          UPDATE attachments SET finished_at = finished_at + 1000000 WHERE key = \(child)
          """)
      },
      Breakage("the content of what may be tried again is gone", ["content-missing"]) { home in
        unlink("\(home.folder.path)/var/uploads/\(try home.value("SELECT id FROM uploads"))")
      },
      Breakage("the content of what may be tried again is cut", ["content-missing"]) { home in
        truncate("\(home.folder.path)/var/uploads/\(try home.value("SELECT id FROM uploads"))", 1)
      },
      Breakage("a content that is left", ["content-left"]) { home in
        try home.folder.write("var/uploads/00112233445566778899aabbccddeeff", "left\n")
      },
    ]
  }

  private static func head(_ home: WitnessedHome) throws -> String {
    try home.value("SELECT url FROM derived WHERE attachment_key = \(a) AND name = 'head'")
  }
}
