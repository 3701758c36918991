import Foundation

/// A temporary folder, deleted when the test ends.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "sluice-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Writes a file, and creates missing parent folders.
  @discardableResult
  func write(_ name: String, _ contents: String) throws -> String { try write(name, Data(contents.utf8)) }

  @discardableResult
  func write(_ name: String, _ contents: Data) throws -> String {
    let file = path + "/" + name
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try contents.write(to: URL(fileURLWithPath: file))
    return file
  }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)), as: UTF8.self)
  }

  /// Every regular file below a folder, by relative path.
  func files(below name: String) -> [String] {
    guard let names = FileManager.default.enumerator(atPath: path + "/" + name) else { return [] }
    return names.compactMap { $0 as? String }.filter {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: path + "/" + name + "/" + $0, isDirectory: &isFolder)
      return !isFolder.boolValue
    }.sorted()
  }
}
