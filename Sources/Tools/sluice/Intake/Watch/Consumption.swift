import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Objects
import Pipeline
import Platform
import Wire

/// What becomes of a source once its attachment is completed and its object is stored.
///
/// A source is renamed first, then compared with what was taken in, and only then removed: another file may have got its name in
/// between. What is found under such a name after a crash is settled in the same way; the name says what it has to be.
final class Consumption {
  enum Way: Equatable {
    case delete
    /// To a folder on the same file system, under the path that it has in the watched folder.
    case move(to: String)
  }

  /// `nil`: sources stay.
  private let way: Way?
  private let home: Home
  private let tell: (String) -> Void
  /// Sources that have other content than what was stored, as they were when that was told.
  private var left: [[UInt8]: Kept] = [:]
  private static let mostLeft = 10_000

  /// What stays the same as long as nobody writes to a file, also when it is renamed.
  private struct Kept: Equatable {
    let inode: ino_t
    let size: Int64
    let modified: Int64

    init(_ facts: stat) {
      let file = FileState(facts)
      (inode, size, modified) = (facts.st_ino, file.size, file.modified)
    }
  }

  /// Reasons that were told.
  private var told: Set<Int32> = []

  init(_ way: Way?, home: Home, tell: @escaping (String) -> Void) {
    (self.way, self.home, self.tell) = (way, home, tell)
  }

  enum Result {
    case done
    /// Its object has not got its path yet: to be tried again.
    case tooEarly
    /// It stays where it is.
    case left
  }

  /// Consumes a source. It goes only if its attachment is completed and has its object in the store.
  ///
  /// - Parameters:
  ///   - facts: of the source, when it was found to be this attachment.
  ///   - root: the watched folder that it is in.
  func consume(_ path: [UInt8], _ facts: stat, of attachment: KnownFile, below root: [UInt8])
    -> Result
  {
    guard way != nil, attachment.status == .completed, let url = attachment.url,
      let size = attachment.sizeBytes
    else {
      return .left
    }
    if left[path] == Kept(facts) { return .left }
    var object = stat()
    let stored = "\(home.storePath)/\(url)"
    guard stat(stored, &object) == 0, object.st_mode & S_IFMT == S_IFREG, Int64(object.st_size) == size
    else { return .tooEarly }
    // An object that was damaged since may be all that is lost with its source.
    guard holds(Array(stored.utf8), attachment.sha256) else {
      return differs(path, facts, "its object in the store is damaged; `sluice verify` tells more")
    }
    guard let source = Place(path) else { return errno == ENOENT ? .left : failed(path) }
    let claim = ClaimedName(id: attachment.id, FileState(facts))
    var target = Array(claim.text.utf8)
    var folder = source.folder.number
    if case .move(let done) = way {
      guard let free = Self.freePath(below: done, path[root.count...], claim) else { return failed(path) }
      (target, folder) = (free, AT_FDCWD)
    }
    if Self.rename(source.folder.number, source.name, folder, target) != 0 {
      return errno == ENOENT ? .left : failed(path)
    }
    var found = stat()
    let isSame =
      target.withPath { fstatat(folder, $0, &found, AT_SYMLINK_NOFOLLOW) } == 0
      && found.st_ino == facts.st_ino
      && claim.fits(found)
    let renamed = folder == AT_FDCWD ? target : source.beside(target)
    if !isSame || renamed.withPath({ sluice_has_writer($0) }) == 1 {
      // Another file got the name, or a writer came: it is taken in like any other.
      if Self.rename(folder, target, source.folder.number, source.name) != 0 { isStranded(renamed, path) }
      return .left
    }
    guard holds(renamed, attachment.sourceSHA256) else {
      if Self.rename(folder, target, source.folder.number, source.name) != 0 { isStranded(renamed, path) }
      return differs(
        path, facts,
        "it has other content than what was stored, under the same size and time; touch it to have it taken in"
      )
    }
    if way == .delete, target.withPath({ unlinkat(folder, $0, 0) }) != 0 { return failed(path) }
    return .done
  }

  /// Settles a file that an earlier process had renamed and not removed.
  ///
  /// - Parameter record: of its attachment; `nil`: there is none.
  func settle(_ path: [UInt8], _ name: ClaimedName, _ record: AttachmentRecord?) {
    var found = stat()
    guard let record, let place = Place(path), let source = Place.split(record.source),
      place.name.withPath({ fstatat(place.folder.number, $0, &found, AT_SYMLINK_NOFOLLOW) }) == 0,
      // A name that someone made up must not lead to another folder.
      source.folder == place.path || MaildirPath(record.source)?.mayLie(in: place.path) == true
    else { return }
    let original = (try? MetadataText.data(record.outcome.metadata))?.first { $0.key == "original.sha256" }
    let sha256 = original.map { Hexadecimal.bytes($0.value.text) } ?? record.outcome.sha256
    let isDone =
      record.outcome.status == .completed && record.outcome.url != nil && name.fits(found)
      && holds(path, sha256)
    if way == .delete && isDone {
      if place.name.withPath({ unlinkat(place.folder.number, $0, 0) }) != 0 { _ = failed(path) }
    } else if Self.rename(place.folder.number, place.name, place.folder.number, source.name) != 0 {
      isStranded(path, record.source)
    }
  }

  /// Whether a file has this content.
  private func holds(_ path: [UInt8], _ sha256: [UInt8]?) -> Bool {
    var facts = stat()
    guard let sha256,
      case let number = path.withPath({ open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }), number >= 0,
      case let file = Descriptor(owning: number),
      fstat(file.number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
      let digest = try? ObjectHash().digest(of: file.number, size: Int64(facts.st_size))
    else { return false }
    return digest == sha256
  }

  /// It is told once, and the file left alone until it changes.
  private func differs(_ path: [UInt8], _ facts: stat, _ reason: String) -> Result {
    if left.count >= Self.mostLeft { left.removeAll() }
    left[path] = Kept(facts)
    tell("\(String(decoding: path, as: UTF8.self)) stays: \(reason)")
    return .left
  }

  private func isStranded(_ renamed: [UInt8], _ path: [UInt8]) {
    let reason = String(cString: strerror(errno))
    tell(
      "\(String(decoding: renamed, as: UTF8.self)) belongs at \(String(decoding: path, as: UTF8.self)): \(reason); put it "
        + "back by hand")
  }

  /// Tells each reason once.
  private func failed(_ path: [UInt8]) -> Result {
    let number = errno
    if told.insert(number).inserted {
      tell(
        "\(String(decoding: path, as: UTF8.self)) is taken in and stays where it is: \(String(cString: strerror(number))); "
          + "allow this user to rename files in its folder, then start again")
    }
    return .left
  }

  /// The place for a source in the folder for what is done, with its folders made. `nil`: see errno.
  private static func freePath(below folder: String, _ path: ArraySlice<UInt8>, _ claim: ClaimedName)
    -> [UInt8]?
  {
    let target = Array(folder.utf8) + path
    for index in target.indices.dropFirst(folder.utf8.count + 1) where target[index] == UInt8(ascii: "/") {
      if Array(target[..<index]).withPath({ mkdir($0, 0o700) }) != 0 && errno != EEXIST { return nil }
    }
    let isTaken = target.withPath { access($0, F_OK) } == 0
    return isTaken ? target + Array(".\(claim.id)".utf8) : target
  }

  /// Renames, and replaces nothing.
  private static func rename(_ folder: Int32, _ name: [UInt8], _ other: Int32, _ target: [UInt8]) -> Int32 {
    name.withPath { name in target.withPath { sluice_rename_new(folder, name, other, $0) } }
  }
}

/// A file in a folder that is held open: no link that is put on the way to it leads elsewhere.
private struct Place: ~Copyable {
  let folder: Descriptor
  /// Of the folder.
  let path: [UInt8]
  /// In the folder.
  let name: [UInt8]

  /// `nil`: see errno.
  init?(_ file: [UInt8]) {
    guard let (path, name) = Self.split(file) else {
      errno = EINVAL
      return nil
    }
    let number = path.withPath { sluice_open_source($0) }
    if number < 0 { return nil }
    folder = Descriptor(owning: number)
    (self.path, self.name) = (path, name)
  }

  static func split(_ file: [UInt8]) -> (folder: [UInt8], name: [UInt8])? {
    guard let slash = file.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    let folder = slash == 0 ? file[...slash] : file[..<slash]
    return (Array(folder), Array(file[(slash + 1)...]))
  }

  func beside(_ name: [UInt8]) -> [UInt8] { path + [UInt8(ascii: "/")] + name }
}

/// The name of a source that is about to be removed: whose it is, and what it was when it was taken in.
struct ClaimedName {
  let id: String
  /// In bytes.
  let size: Int64
  /// In nanoseconds since 1970.
  let modified: Int64

  private static let prefix = ".sluice-taken"

  init(id: String, _ file: FileState) {
    (self.id, size, modified) = (id, file.size, file.modified)
  }

  /// `nil`: it is a name like any other.
  init?(_ name: ArraySlice<UInt8>) {
    let parts = String(decoding: name, as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].isEmpty, ".\(parts[1])" == Self.prefix, let size = Int64(parts[3]),
      let modified = Int64(parts[4])
    else { return nil }
    (id, self.size, self.modified) = (String(parts[2]), size, modified)
  }

  var text: String { "\(Self.prefix).\(id).\(size).\(modified)" }

  /// Whether a file is what was taken in.
  func fits(_ facts: stat) -> Bool {
    let file = FileState(facts)
    return facts.st_mode & S_IFMT == S_IFREG && file.size == size && file.modified == modified
  }
}
