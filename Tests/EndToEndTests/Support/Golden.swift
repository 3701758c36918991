import Foundation
import Testing

/// Output for users, kept in files.
enum Golden {
  static let folder = SluiceCommand.projectFolder + "/Tests/EndToEndTests/Golden"

  static func expect(_ text: String, _ name: String, in folder: TemporaryFolder? = nil) throws {
    let text = normalised(text, folder)
    let file = "\(Self.folder)/\(name).txt"
    if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      return
    }
    let golden = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text == golden, "\(name).txt says otherwise; UPDATE_GOLDEN=1 writes it anew")
  }

  /// The text without parts that differ between runs: ids, times, folders, durations, sizes on disk.
  private static func normalised(_ text: String, _ folder: TemporaryFolder?) -> String {
    var text = text
    if let folder {
      let resolved = URL(fileURLWithPath: folder.path).resolvingSymlinksInPath().path
      for path in [folder.path, resolved] { text = text.replacingOccurrences(of: path, with: "FOLDER") }
    }
    let id = /[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/
    text = text.replacing(id, with: "ID")
    text = text.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/, with: "TIME")
    text = text.replacing(/[0-9]+\.[0-9]{3} ms/, with: "N ms")
    text = text.replacing(/"milliseconds":[0-9.e-]+/, with: #""milliseconds":0"#)
    text = text.replacing(/"mime.database":"[0-9.]+"/, with: #""mime.database":"N""#)
    text = text.replacing(/mime.database( +)[0-9.]+/) { "mime.database\($0.output.1)N" }
    text = text.replacing(/(ledger|store)( +)[0-9.]+ [KM]?B/) { "\($0.output.1)\($0.output.2)N" }
    text = text.replacing(/"(ledger|store)Bytes":[0-9]+/) { "\"\($0.output.1)Bytes\":0" }
    return text
  }
}
