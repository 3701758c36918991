import Foundation
import SQLite
import Testing

/// Looks at a home from outside and says what must hold whatever happened to it: every attachment in one final state, every
/// object whole and owned, every event once.
struct Witness {
  let folder: TemporaryFolder
  var home = "var"

  struct Attachment {
    var source: String
    var status: String
    var url: String?
    var sha256: String?
    var id: String
    var reason: String?
  }

  func attachments() throws -> [Attachment] {
    var attachments: [Attachment] = []
    try ledger().prepare(
      "SELECT source, status, url, lower(hex(sha256)), id, reason_message FROM attachments ORDER BY key"
    ).rows { row in
      attachments.append(
        Attachment(
          source: String(decoding: row.blob(0), as: UTF8.self), status: row.text(1), url: row.optionalText(2),
          sha256: row.optionalText(3), id: row.text(4), reason: row.optionalText(5)))
    }
    return attachments
  }

  /// Whether something is queued, or scheduled for later.
  var hasJobs: Bool {
    get throws { try ledger().prepare("SELECT count(*) FROM jobs").first { $0.integer(0) } != 0 }
  }

  private func ledger() throws -> Connection { try Connection(folder.path + "/" + home + "/sluice.db") }

  /// - Parameters:
  ///   - expected: the status each source must have.
  ///   - recipients: who is told of each; `nil`: events are not looked at.
  /// - Returns: how many attachments are lost, double, or in another state than they must be.
  @discardableResult
  func check(expected: [String: String], recipients: [String]?) throws -> Int {
    let attachments = try attachments()
    #expect(attachments.count == expected.count, "one attachment for each file")
    #expect(Set(attachments.map(\.source)) == Set(expected.keys))
    for attachment in attachments {
      #expect(
        attachment.status == expected[attachment.source], "\(attachment.source): \(attachment.reason ?? "")")
    }
    try checkStore(attachments)
    if let recipients { try checkEvents(attachments, recipients) }
    func value(_ sql: String) throws -> String? { try ledger().prepare(sql).first { $0.text(0) } }
    #expect(try value("PRAGMA integrity_check") == "ok")
    #expect(try value("PRAGMA foreign_key_check") == nil)
    #expect(try value("SELECT count(*) FROM jobs") == "0", "the queue is empty")
    let wrong =
      "SELECT status FROM counts c WHERE attachments <> (SELECT count(*) FROM attachments a WHERE a.status = c.status)"
    #expect(try value(wrong) == nil, "the counts are those of the rows")
    return attachments.count { $0.status != expected[$0.source] } + abs(attachments.count - expected.count)
  }

  private func checkStore(_ attachments: [Attachment]) throws {
    var owners: [String: Int] = [:]
    for attachment in attachments {
      guard let url = attachment.url else {
        #expect(attachment.status != "completed")
        continue
      }
      owners[url, default: 0] += 1
    }
    #expect(owners.values.allSatisfy { $0 == 1 }, "no object has two rows")
    #expect(
      folder.files(below: home + "/store") == owners.keys.sorted(),
      "no object without a row, no row without its object")
    let paths = attachments.compactMap(\.url).map { folder.path + "/" + home + "/store/" + $0 }
    var hashes: [String: String] = [:]
    for start in stride(from: 0, to: paths.count, by: 500) {
      let output = try shell("sha256sum", ["-z"] + paths[start..<min(start + 500, paths.count)])
      for line in output.split(separator: "\0") {
        hashes[String(line.dropFirst(66))] = String(line.prefix(64))
      }
    }
    for attachment in attachments {
      guard let url = attachment.url else { continue }
      #expect(
        hashes[folder.path + "/" + home + "/store/" + url] == attachment.sha256, "\(url) is what its row says"
      )
    }
  }

  private func checkEvents(_ attachments: [Attachment], _ recipients: [String]) throws {
    let lines = try folder.read(home + "/events.jsonl").split(
      separator: "\n", omittingEmptySubsequences: true)
    var ids: Set<String> = []
    var seen: Set<String> = []
    for line in lines {
      let event = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let data = try #require(event["data"] as? [String: Any])
      let id = try #require(event["id"] as? String)
      #expect(ids.insert(id).inserted, "\(id) stands there once")
      let attachment = data["attachmentId"] as? String ?? ""
      let status = data["status"] as? String ?? ""
      seen.insert("\(attachment) \(status) \(data["recipientId"] as? String ?? "")")
    }
    let wanted = Set(attachments.flatMap { a in recipients.map { "\(a.id) \(a.status) \($0)" } })
    #expect(wanted.subtracting(seen) == [], "every recipient has every event")
    #expect(seen.subtracting(wanted) == [], "and no other")
    #expect(lines.count == wanted.count, "and has it once")
  }

  private func shell(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/" + program)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }
}
