import Foundation
import SQLite

/// States of a home other than intact and idle.
enum OddHome: String, CaseIterable, Sendable {
  case missing, empty, file, link, loop
  case readOnly = "read-only"
  case closed = "not to be entered"
  case dangling = "a dangling link"
  case nameless = "an empty path"
  case escapes = "a path with a newline and an escape"
  case endless = "a path of 5000 bytes"
  case long = "a path of 400 bytes"
  case belowFile = "below a file"

  case lockOfAnother = "its lock is root's"
  case lockFolder = "its lock is a folder"
  case lockPipe = "its lock is a pipe"
  case lockLink = "its lock is a dangling link"
  case ledgerFolder = "its ledger is a folder"
  case ledgerEmpty = "its ledger is empty"
  case ledgerGarbage = "its ledger is garbage"
  case ledgerPipe = "its ledger is a pipe"
  case ledgerOther = "its ledger is another database"
  case ledgerNewer = "its ledger is of a newer version"
  case ledgerReadOnly = "its ledger is read-only"
  case logFolder = "its write-ahead log is a folder"
  case storeFile = "its store is a file"
  case storeMissing = "it has no store"
  case storeReadOnly = "its store is read-only"
  case incomingFile = "the store's incoming folder is a file"
  case reserveFolder = "its reserve is a folder"
  case socketFolder = "its socket is a folder"
  case lostFile = "its lost+found is a file"

  case lastChange = "its last change is the last there is"
  case lastHolder = "its coordinator is the last there is"
  case lastAttempt = "its jobs have had every attempt there is"
  case lastKey = "its keys are used up"

  case worked = "a coordinator works on it"
  case stopped = "a stopped coordinator has it"
  case staleSocket = "a socket is left of a coordinator that is gone"
  case muteSocket = "a socket accepts and never answers"

  case removed = "removed while the command runs"
  case replacedByFolder = "replaced by an empty folder while the command runs"
  case replacedByFile = "replaced by a file while the command runs"
  case closedLater = "closed to its owner while the command runs"
  case fullDisk = "on a full disk"

  /// The path to give as `--home`.
  var path: String {
    switch self {
    case .nameless: return ""
    case .missing: return "new/home"
    case .escapes: return "home\n\u{1B}[2J"
    case .endless: return String(repeating: "endless/", count: 625)
    case .long: return String(repeating: "long-name/", count: 40) + "home"
    case .belowFile: return "in/a.txt/home"
    case .link, .dangling, .loop: return "link"
    case .fullDisk: return "disk/home"
    default: return "home"
    }
  }

  /// Obstacles that do not stop root must be met by an ordinary user. The empty path needs a user who cannot
  /// write to `/`.
  var needsOrdinaryUser: Bool {
    switch self {
    case .readOnly, .closed, .lockOfAnother, .ledgerReadOnly, .storeReadOnly, .nameless, .closedLater: true
    default: false
    }
  }

  /// Its ledger is intact before, and only the command touches it.
  var keepsLedger: Bool {
    switch self {
    case .missing, .empty, .file, .loop, .dangling, .nameless, .endless, .belowFile, .ledgerFolder,
      .ledgerEmpty,
      .ledgerGarbage, .ledgerPipe, .ledgerOther, .ledgerNewer, .logFolder, .lastChange, .lastHolder,
      .lastAttempt,
      .lastKey, .removed, .replacedByFile, .replacedByFolder:
      false
    default: true
    }
  }

  /// The store is intact, and verify must find nothing afterwards.
  var keepsStore: Bool {
    switch self {
    case .storeFile, .storeMissing, .incomingFile, .closedLater, .fullDisk, .lockPipe, .lockFolder, .lockLink:
      false
    default: keepsLedger
    }
  }

  // MARK: Making

  /// Changes the good home at `home` in a folder into this one. File owners are set afterwards.
  func make(in folder: TemporaryFolder) throws {
    let path = folder.path
    let files = FileManager.default
    func replace(_ name: String, _ contents: String? = nil) throws {
      try? files.removeItem(atPath: "\(path)/\(name)")
      if let contents { try folder.write(name, contents) }
    }
    func replaceByFolder(_ name: String) throws {
      try replace(name)
      try files.createDirectory(atPath: "\(path)/\(name)/inside", withIntermediateDirectories: true)
    }
    func replaceByPipe(_ name: String) throws {
      try replace(name)
      mkfifo("\(path)/\(name)", 0o600)
    }
    func change(_ sql: String) throws { try Connection(path + "/home/sluice.db").execute(sql) }

    switch self {
    case .empty:
      try replace("home")
      try files.createDirectory(atPath: path + "/home", withIntermediateDirectories: true)
    case .file: try replace("home", "not a folder\n")
    case .link: symlink("home", path + "/link")
    case .dangling: symlink("nowhere/at/all", path + "/link")
    case .loop: symlink("link", path + "/link")
    case .escapes: rename(path + "/home", path + "/" + self.path)
    case .long:
      let parent = String(repeating: "long-name/", count: 40)
      try files.createDirectory(atPath: "\(path)/\(parent)", withIntermediateDirectories: true)
      rename(path + "/home", path + "/" + self.path)
    case .lockFolder: try replaceByFolder("home/sluice.lock")
    case .lockPipe: try replaceByPipe("home/sluice.lock")
    case .lockLink:
      try replace("home/sluice.lock")
      symlink("nowhere/at/all", path + "/home/sluice.lock")
    case .ledgerFolder: try replaceByFolder("home/sluice.db")
    case .ledgerEmpty: try replace("home/sluice.db", "")
    case .ledgerGarbage: try replace("home/sluice.db", String(repeating: "garbage\u{1B}", count: 999))
    case .ledgerPipe: try replaceByPipe("home/sluice.db")
    case .ledgerOther:
      try replace("home/sluice.db")
      try change("CREATE TABLE somebody (elses)")
    case .ledgerNewer: try change("PRAGMA user_version = 99")
    case .logFolder: try replaceByFolder("home/sluice.db-wal")
    case .storeFile: try replace("home/store", "not a folder\n")
    case .storeMissing: try replace("home/store")
    case .incomingFile: try replace("home/store/.incoming", "not a folder\n")
    case .reserveFolder: try replaceByFolder("home/reserve")
    case .socketFolder: try replaceByFolder("home/sluice.sock")
    case .lostFile: try replace("home/lost+found", "not a folder\n")
    case .lastChange: try change("UPDATE ledger SET position = 9223372036854775807")
    case .lastHolder: try change("UPDATE ledger SET holder = 9223372036854775807")
    case .lastAttempt: try change("UPDATE jobs SET attempts = 9223372036854775807")
    case .lastKey: try change("UPDATE attachments SET key = 9223372036854775807 WHERE key = 1")
    default: break
    }
  }

  /// Changes that only root can make, after the owners are set.
  func close(in folder: TemporaryFolder) {
    let home = folder.path + "/home"
    switch self {
    case .readOnly: chmod(home, 0o500)
    case .closed: chmod(home, 0)
    case .lockOfAnother:
      chown(home + "/sluice.lock", 0, 0)
      chmod(home + "/sluice.lock", 0o600)
    case .ledgerReadOnly: chmod(home + "/sluice.db", 0o400)
    case .storeReadOnly: chmod(home + "/store", 0o500)
    default: break
    }
  }

  /// Changes the home while the command runs.
  func meddle(in folder: TemporaryFolder) {
    let home = folder.path + "/home"
    switch self {
    case .removed: rename(home, folder.path + "/gone")
    case .replacedByFolder:
      rename(home, folder.path + "/gone")
      mkdir(home, 0o777)
    case .replacedByFile:
      rename(home, folder.path + "/gone")
      Glibc.close(creat(home, 0o666))
    case .closedLater: chmod(home, 0)
    default: break
    }
  }
}
