import Glibc
import Platform
import Synchronization

/// Trial folders whose program was killed before it could delete them. They hold content of attachments.
enum AbandonedFolders {
  static let prefix = "sluice-trial-"
  /// Characters that mkdtemp(3) adds to the prefix.
  private static let randomCount = 6
  /// Places that this program has looked at.
  private static let swept = Mutex<Set<String>>([])

  /// Deletes those of this user in a place that no program holds, the first time the program asks for it.
  static func sweep(_ place: String) {
    if !swept.withLock({ $0.insert(place).inserted }) { return }
    for name in FolderTree.names(place) where isTrial(name) { removeAbandoned("\(place)/\(name)") }
  }

  private static func isTrial(_ name: String) -> Bool {
    let random = name.utf8.dropFirst(prefix.utf8.count)
    return name.hasPrefix(prefix) && random.count == randomCount
      && random.allSatisfy { byte in
        let character = Character(Unicode.Scalar(byte))
        return character.isASCII && (character.isLetter || character.isNumber)
      }
  }

  private static func removeAbandoned(_ path: String) {
    // What cannot be opened is left as it is.
    guard let folder = try? Descriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else { return }
    var facts = stat()
    guard fstat(folder.number, &facts) == 0, facts.st_uid == geteuid(), facts.st_mode & 0o7777 == 0o700 else {
      return
    }
    if flock(folder.number, LOCK_EX | LOCK_NB) == 0 { FolderTree.remove(path) }
  }
}
