import Foundation
import SQLite
import Testing

/// A Maildir in a folder of a test.
struct Maildir {
  let folder: TemporaryFolder
  /// Below the folder.
  let name: String

  init(_ folder: TemporaryFolder, _ name: String = "mail") throws {
    (self.folder, self.name) = (folder, name)
    for part in ["cur", "new", "tmp"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)/\(part)", withIntermediateDirectories: true)
    }
  }

  static func mail(_ id: String?, from: String = "ann@example.com", to: String = "ben@example.com") -> String
  {
    "From: A <\(from)>\nTo: \(to)\n" + (id.map { "Message-ID: <\($0)>\n" } ?? "")
      + "Subject: \(id ?? "none")\n\nHello\n"
  }

  /// As a program of mail does it: written in `tmp`, and then put into `new`.
  func deliver(_ unique: String, _ mail: String) throws {
    try folder.write("\(name)/tmp/\(unique)", mail)
    try move("tmp/\(unique)", "new/\(unique)")
  }

  func move(_ old: String, _ new: String) throws {
    try #require(rename("\(folder.path)/\(name)/\(old)", "\(folder.path)/\(name)/\(new)") == 0)
  }

  /// The messages on record, as `conversation|id|sender|participants`.
  static func messages(_ folder: TemporaryFolder, home: String = "home") throws -> [String] {
    var lines: [String] = []
    try Connection("\(folder.path)/\(home)/sluice.db", .readOnly)
      .prepare("SELECT conversation_id, message_id, sender_id, participants FROM messages ORDER BY 2")
      .rows { row in lines.append((0..<4).map { row.text($0) }.joined(separator: "|")) }
    return lines
  }
}
