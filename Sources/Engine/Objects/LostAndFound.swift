import CPlatform
import Glibc
import Platform

/// Where a repair moves files that no attachment owns. The program never deletes anything there.
struct LostAndFound {
  static let name = "lost+found"
  /// Used if the store is its own file system, because a rename cannot leave it.
  static let nameInStore = ".lost+found"

  let home: Int32
  let store: Int32

  /// Moves a file out of the store. If its name is taken there, a number is added.
  ///
  /// - Returns: the new place, relative to the home.
  func take(_ path: [UInt8]) throws(SystemError) -> String {
    let shown = String(decoding: path, as: UTF8.self)
    if let place = try move(path, to: home, Self.name) { return "\(Self.name)/\(shown)\(place)" }
    if let place = try move(path, to: store, Self.nameInStore) {
      return "store/\(Self.nameInStore)/\(shown)\(place)"
    }
    throw SystemError("moving \(shown) to \(Self.name)", code: EXDEV)
  }

  /// The suffix of the new name, a dot and a number; `nil`: the folder is on another file system.
  private func move(_ path: [UInt8], to folder: Int32, _ top: String) throws(SystemError) -> String? {
    let target = Array("\(top)/".utf8) + path
    for (index, byte) in target.enumerated() where byte == 0x2F {
      let made = Array(target[..<index]).withPath { mkdirat(folder, $0, 0o700) }
      if made != 0 && errno != EEXIST { throw SystemError("making \(top)") }
    }
    for number in 1...1000 {
      let suffix = number == 1 ? "" : ".\(number)"
      let result = path.withPath { old in
        (target + Array(suffix.utf8)).withPath { sluice_rename_new(store, old, folder, $0) }
      }
      if result == 0 { return suffix }
      if errno == EXDEV { return nil }
      if errno != EEXIST { throw SystemError("moving \(String(decoding: path, as: UTF8.self)) to \(top)") }
    }
    throw SystemError("moving \(String(decoding: path, as: UTF8.self)) to \(top)", code: EEXIST)
  }
}
