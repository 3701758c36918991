import Control
import Glibc
import Platform

/// A folder that an option names.
struct NamedFolder {
  /// Without links.
  let path: [UInt8]
  let device: dev_t

  /// - Parameter option: for messages.
  init(_ name: String, _ option: String) throws(CommandError) {
    var facts = stat()
    guard let path = InputWalker.resolve(Array(name.utf8)), path.withPath({ stat($0, &facts) }) == 0 else {
      throw .usage(
        "\(option) \(Terminal.printable(name)): \(String(cString: strerror(errno))); name a folder")
    }
    if facts.st_mode & S_IFMT != S_IFDIR {
      throw .usage(
        "\(option) \(Terminal.printable(name)): not a folder; name the folder that the files come to")
    }
    self.path = path
    device = facts.st_dev
  }
}

extension IntakeBound {
  /// `--root`: for commands that take files in.
  static let option = CommandOption(
    name: "root", value: "DIR",
    help: "Refuse files outside of this folder, also those that clients name; repeatable.",
    takesSeveral: true)

  /// What `--root` says; `nil`: nothing.
  init?(_ arguments: ParsedArguments) throws(CommandError) {
    var folders: [[UInt8]] = []
    for name in arguments.values("root") { folders.append(try NamedFolder(name, "--root").path) }
    if folders.isEmpty { return nil }
    self.init(folders)
  }
}
