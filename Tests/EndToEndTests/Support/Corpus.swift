import Foundation

/// The optional folder of real attachments: `$SLUICE_CORPUS`, else `../shared/corpus`.
enum Corpus {
  static let folder: String = {
    let named = ProcessInfo.processInfo.environment["SLUICE_CORPUS"]
    return named ?? SluiceCommand.projectFolder + "/../shared/corpus"
  }()

  static let isThere = FileManager.default.fileExists(atPath: folder + "/MANIFEST.tsv")

  /// For `.enabled(if:)`.
  static let skipped = "skipped: no corpus at \(folder); name one with SLUICE_CORPUS"

  /// The manifest's row for one file, by column.
  struct Entry {
    var columns: [String: String]

    subscript(_ column: String) -> String { columns[column] ?? "" }
    var path: String { self["path"] }
    /// The file's path.
    var file: String { Corpus.folder + "/" + path }
  }

  static func entries() throws -> [Entry] {
    let text = String(
      decoding: try Data(contentsOf: URL(fileURLWithPath: folder + "/MANIFEST.tsv")), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
    let names = lines[0].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    return lines.dropFirst().map { line in
      let values = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      return Entry(columns: Dictionary(uniqueKeysWithValues: zip(names, values)))
    }
  }
}
