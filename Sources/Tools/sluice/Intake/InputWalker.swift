import Glibc
import Ledger
import Manifest
import Platform
import Wire

/// Finds the files to take in, from paths, folders or a manifest, and passes them on in batches.
///
/// Unchecked because only one thread uses it.
final class InputWalker: @unchecked Sendable {
  /// Takes a batch. False: no more batches are accepted, and the walk can stop.
  private let send: ([IntakeItem]) -> Bool
  /// Called with each input that cannot be taken in, and the reason.
  private let problem: (String) -> Void
  private let defaults: IntakeDefaults
  private let home: (dev_t, ino_t)?
  private var batch: [IntakeItem] = []
  /// The last folder looked up, with its device: a manifest names many files of one folder.
  private var lastFolder: (path: [UInt8], device: Int64?)?
  private var isRefused = false

  /// Files in one transaction of the ledger.
  private static let batchSize = 500

  init(
    defaults: IntakeDefaults, home: Home, send: @escaping ([IntakeItem]) -> Bool,
    problem: @escaping (String) -> Void
  ) {
    self.send = send
    self.problem = problem
    self.defaults = defaults
    var facts = stat()
    self.home = stat(home.path, &facts) == 0 ? (facts.st_dev, facts.st_ino) : nil
  }

  /// Takes in files, and folders with everything in them.
  func walk(_ paths: [String]) {
    for path in paths where !isRefused {
      guard let resolved = Self.resolve(Array(path.utf8)) else {
        problem("\(Self.named(Array(path.utf8))): \(String(cString: strerror(errno))); check the path")
        continue
      }
      walk(resolved, origin: path)
    }
    flush()
  }

  /// Takes in what a manifest lists.
  func read(_ manifest: ManifestReader) {
    manifest.read(defaults, beforeWaiting: flush) { result in
      switch result {
      case .success(var item):
        guard let resolved = Self.resolve(item.source) else {
          self.problem(
            "\(item.origin): \(Self.named(item.source)): \(String(cString: strerror(errno))); check the path")
          return !self.isRefused
        }
        var facts = stat()
        if resolved.withPath({ stat($0, &facts) }) != 0 || facts.st_mode & S_IFMT != S_IFREG {
          self.problem(
            "\(item.origin): \(Self.named(resolved)): not a file; a manifest lists files, one a line")
          return !self.isRefused
        }
        item.source = resolved
        item.folderDevice = self.folderDevice(of: resolved)
        let file = FileState(facts)
        (item.sourceSize, item.sourceModified) = (file.size, file.modified)
        self.add(item)
      case .failure(let problem): self.problem(problem.text)
      }
      return !self.isRefused
    }
    flush()
  }

  // MARK: Folders

  private func walk(_ path: [UInt8], origin: String) {
    var facts = stat()
    guard path.withPath({ lstat($0, &facts) }) == 0 else { return report(path) }
    switch facts.st_mode & S_IFMT {
    case S_IFREG: add(path, facts, in: folderDevice(of: path), origin: origin)
    case S_IFDIR: walkFolder(path, facts, above: [], origin: origin)
    default: problem("\(Self.named(path)): neither a file nor a folder; only those are taken in")
    }
  }

  /// - Parameter above: the folders that contain this one, to detect a folder that contains itself.
  private func walkFolder(_ path: [UInt8], _ own: stat, above: [(dev_t, ino_t)], origin: String) {
    if let home, home == (own.st_dev, own.st_ino) { return }  // Sluice's own state is not taken in
    if above.contains(where: { $0 == (own.st_dev, own.st_ino) }) {
      return report(path, "the folder lies within itself; not entered again")
    }
    guard let names = FolderListing(path) else { return report(path) }
    for name in names where !isRefused {
      let inner = path + [UInt8(ascii: "/")] + name
      var facts = stat()
      guard inner.withPath({ lstat($0, &facts) }) == 0 else {
        report(inner)
        continue
      }
      switch facts.st_mode & S_IFMT {
      case S_IFREG: add(inner, facts, in: Self.number(own.st_dev), origin: origin)
      case S_IFDIR: walkFolder(inner, facts, above: above + [(own.st_dev, own.st_ino)], origin: origin)
      // A user who may write to the folder could point the link at any file.
      case S_IFLNK: report(inner, "a symbolic link; not followed (name it on the command line to take it in)")
      default: report(inner, "neither a file nor a folder; passed over")
      }
    }
  }

  private func report(_ path: [UInt8], _ reason: String = String(cString: strerror(errno))) {
    problem("\(Self.named(path)): \(reason)")
  }

  private static func named(_ path: [UInt8]) -> String {
    path.isEmpty ? "''" : Terminal.printable(String(decoding: path, as: UTF8.self))
  }

  // MARK: Batches

  private func add(_ path: [UInt8], _ facts: stat, in device: Int64?, origin: String) {
    let name = path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...]
    let file = FileState(facts)
    var item = IntakeItem(
      conversationId: defaults.conversationId, messageId: nil, senderId: defaults.senderId,
      participants: defaults.participants, fileName: String(decoding: name, as: UTF8.self), source: path,
      sourceSize: file.size, sourceModified: file.modified, priority: defaults.priority, origin: origin)
    item.folderDevice = device
    add(item)
  }

  private func folderDevice(of path: [UInt8]) -> Int64? {
    let folder = Array(path[..<max(path.lastIndex(of: UInt8(ascii: "/")) ?? 0, 1)])
    if let lastFolder, lastFolder.path == folder { return lastFolder.device }
    var facts = stat()
    let device = folder.withPath({ stat($0, &facts) }) == 0 ? Self.number(facts.st_dev) : nil
    lastFolder = (folder, device)
    return device
  }

  private static func number(_ device: dev_t) -> Int64 { Int64(bitPattern: UInt64(device)) }

  private func add(_ item: IntakeItem) {
    batch.append(item)
    if batch.count >= Self.batchSize { flush() }
  }

  private func flush() {
    if batch.isEmpty { return }
    if !send(batch) { isRefused = true }
    batch.removeAll(keepingCapacity: true)
  }

  // MARK: Paths

  /// The absolute path without links, so that a file has one path however it is named; `nil`: see errno.
  private static func resolve(_ path: [UInt8]) -> [UInt8]? {
    guard !path.contains(0), !path.isEmpty else {
      errno = path.isEmpty ? ENOENT : EINVAL
      return nil
    }
    return path.withPath { path in
      guard let resolved = realpath(path, nil) else { return nil }
      defer { free(resolved) }
      return Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    }
  }
}
