import Foundation
import Platform
import Sealing

enum Samples {
  static let home = Array("0123456789abcdef".utf8)

  /// A key from a number.
  static func digits(_ seed: UInt8) -> String {
    Hexadecimal.text((0..<32).map { $0 &* 7 &+ seed })
  }

  static func key(_ seed: UInt8) throws -> MasterKey {
    try FoundKey.find(
      .environment("KEY"), home: "/nowhere", makesKey: false, environment: ["KEY": digits(seed)]
    ).key
  }

  static func vault(
    _ seed: UInt8 = 1, older: [UInt8] = [], home: [UInt8] = home, seals: UInt64 = 0
  ) throws -> Vault {
    try Vault(key(seed), home: home, older: older.map(key), seals: seals)
  }

  static let place = Place(table: "transfers", column: "request", row: 7)
}

/// A folder that is deleted with it.
final class Folder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "sealing-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)  // what stays is in the temporary folder
  }

  @discardableResult
  func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    chmod(file, mode)
    return file
  }
}
