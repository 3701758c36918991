import Control
import CPlatform
import Glibc
import HomeFolder
import LedgerPort
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
  private let problem: (IntakeProblem) -> Void
  private let defaults: IntakeDefaults
  private let bound: IntakeBound?
  private let home: (dev_t, ino_t)?
  /// Links may be taken in.
  private let fetches: Bool
  private var batch: [IntakeItem] = []
  /// The last folder looked up, with its device: a manifest names many files of one folder.
  private var lastFolder: (path: [UInt8], device: Int64?)?
  private var isRefused = false

  /// Files in one transaction of the ledger.
  private static let batchSize = 500

  init(
    defaults: IntakeDefaults, bound: IntakeBound? = nil, home: Home, fetches: Bool = true,
    send: @escaping ([IntakeItem]) -> Bool,
    problem: @escaping (IntakeProblem) -> Void
  ) {
    self.send = send
    self.problem = problem
    self.defaults = defaults
    self.bound = bound
    self.fetches = fetches
    var facts = stat()
    self.home = stat(home.path, &facts) == 0 ? (facts.st_dev, facts.st_ino) : nil
  }

  /// Takes in files, and folders with everything in them.
  func walk(_ paths: [[UInt8]]) {
    for path in paths where !isRefused {
      let text = Self.text(path)
      if Self.isLink(text) {
        add(link: text)
        continue
      }
      guard let resolved = Self.resolve(path) else {
        problem(IntakeProblem(text, "\(String(cString: strerror(errno))); check the path"))
        continue
      }
      walk(resolved, origin: text)
    }
    flush()
  }

  /// Takes in what a manifest lists.
  func read(_ manifest: ManifestReader) {
    manifest.read(defaults, beforeWaiting: flush) { result in
      switch result {
      case .success(let item) where item.url != nil: self.add(item)
      case .success(var item):
        if Self.isLink(Self.text(item.source)) {
          // It may hold a secret, and is not shown.
          self.problem(IntakeProblem(item.origin, "'path' has a link; write it under 'url'"))
          return !self.isRefused
        }
        guard let resolved = Self.resolve(item.source) else {
          let reason = String(cString: strerror(errno))
          self.problem(IntakeProblem(item.origin, path: Self.text(item.source), "\(reason); check the path"))
          return !self.isRefused
        }
        var facts = stat()
        if resolved.withPath({ stat($0, &facts) }) != 0 || facts.st_mode & S_IFMT != S_IFREG {
          self.problem(
            IntakeProblem(
              item.origin, path: Self.text(resolved), "not a file; a manifest lists files, one a line"))
          return !self.isRefused
        }
        item.source = resolved
        item.folderDevice = self.folderDevice(of: resolved)
        let file = FileState(facts)
        (item.sourceSize, item.sourceModified) = (file.size, file.modified)
        self.add(item)
      case .failure(let problem): self.problem(problem)
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
    case S_IFREG:
      let device = folderDevice(of: path)
      if MboxName.isMailbox(path, isNamed: true), walkMessages(ofMailbox: path, in: device) { return }
      add(path, facts, in: device, origin: origin)
    case S_IFDIR: walkFolder(path, facts, above: [], origin: origin)
    default: report(path, "neither a file nor a folder; only those are taken in")
    }
  }

  /// - Parameters:
  ///   - above: the folders that contain this one, to detect a folder that contains itself.
  ///   - isInMaildir: a folder around it is a Maildir, whose files other than messages are not taken in.
  private func walkFolder(
    _ path: [UInt8], _ own: stat, above: [(dev_t, ino_t)], origin: String, isInMaildir: Bool = false
  ) {
    if let home, home == (own.st_dev, own.st_ino) { return }  // Sluice's own state is not taken in
    if above.contains(where: { $0 == (own.st_dev, own.st_ino) }) {
      return report(path, "the folder lies within itself; not entered again")
    }
    let isMaildir = MaildirPath.isMaildir(path)
    if isMaildir { walkMessages(of: path) }
    guard let names = FolderListing(path) else { return report(path) }
    for name in names where !isRefused {
      if isMaildir && MaildirPath.isOwn(name) { continue }
      let inner = path + [UInt8(ascii: "/")] + name
      var facts = stat()
      guard inner.withPath({ lstat($0, &facts) }) == 0 else {
        report(inner)
        continue
      }
      switch facts.st_mode & S_IFMT {
      case S_IFREG where isMaildir || isInMaildir: break
      case S_IFREG:
        let device = Self.number(own.st_dev)
        if MboxName.isMailbox(inner, isNamed: false), walkMessages(ofMailbox: inner, in: device) { continue }
        add(inner, facts, in: device, origin: origin)
      case S_IFDIR:
        walkFolder(
          inner, facts, above: above + [(own.st_dev, own.st_ino)], origin: origin,
          isInMaildir: isMaildir || isInMaildir)
      // A user who may write to the folder could point the link at any file.
      case S_IFLNK: report(inner, "a symbolic link; not followed (name it on the command line to take it in)")
      default: report(inner, "neither a file nor a folder; passed over")
      }
    }
  }

  /// Takes in the messages of a Maildir. Those in `new` first, for that is where they leave.
  private func walkMessages(of maildir: [UInt8]) {
    for folder in MaildirPath.folders {
      let path = maildir + [UInt8(ascii: "/")] + folder
      guard let names = FolderListing(path) else {
        report(path)
        continue
      }
      for name in names where !isRefused {
        guard let message = MaildirPath(path + [UInt8(ascii: "/")] + name) else { continue }
        do throws(IntakeProblem) {
          guard let item = try IntakeItem(defaults, message) else { continue }
          add(item)
        } catch {
          problem(error)
        }
      }
    }
  }

  /// Takes in the messages of a mailbox file. False: it is none, or cannot be opened, and is a file like others.
  private func walkMessages(ofMailbox path: [UInt8], in device: Int64?) -> Bool {
    let file = Descriptor(owning: path.withPath { sluice_open_source($0) })
    if file.number < 0 { return false }
    var facts = stat()
    let isEmpty = fstat(file.number, &facts) == 0 && facts.st_size == 0
    if isEmpty && MboxName.isMailbox(path, isNamed: false) { return true }
    guard MboxReader.isMailbox(file.number) else { return false }
    do {
      guard MboxLock.take(file.number) else {
        report(path, "another program has locked the mailbox; take it in again once that has ended")
        return true
      }
      let reader = try MboxReader(file.number)
      var number = 0
      while !isRefused, let message = try reader.next() {
        number += 1
        do throws(IntakeProblem) {
          add(try IntakeItem(defaults, message, number: number, of: path, in: device))
        } catch {
          problem(error)
        }
      }
      if reader.hasChanged {
        report(path, "was written to while it was read; its last message is left out: take it in again")
      }
    } catch {
      report(path, "\(error); the messages up to there are taken in")
    }
    return true
  }

  private func report(_ path: [UInt8], _ reason: String = String(cString: strerror(errno))) {
    problem(IntakeProblem(Self.text(path), reason))
  }

  private static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  // MARK: Batches

  private func add(_ path: [UInt8], _ facts: stat, in device: Int64?, origin: String) {
    add(IntakeItem(defaults, path, FileState(facts), in: device, origin: origin))
  }

  private func folderDevice(of path: [UInt8]) -> Int64? {
    let folder = Array(path[..<max(path.lastIndex(of: UInt8(ascii: "/")) ?? 0, 1)])
    if let lastFolder, lastFolder.path == folder { return lastFolder.device }
    var facts = stat()
    let device = folder.withPath({ stat($0, &facts) }) == 0 ? Self.number(facts.st_dev) : nil
    lastFolder = (folder, device)
    return device
  }

  static func number(_ device: dev_t) -> Int64 { Int64(bitPattern: UInt64(device)) }

  /// Whether a word names a link in the place of a file.
  static func isLink(_ word: String) -> Bool {
    let start = word.prefix(8).lowercased()
    return start.hasPrefix("http://") || start.hasPrefix("https://")
  }

  private func add(link url: String) {
    let place = LinkPlace(url)?.text ?? "a link"
    var item = IntakeItem(
      conversationId: defaults.conversationId, messageId: defaults.messageId, senderId: defaults.senderId,
      participants: defaults.participants, fileName: defaults.fileName ?? IntakeItem.unnamed,
      priority: defaults.priority, reference: defaults.reference,
      origin: "\(place)/…")
    (item.url, item.credential) = (url, defaults.credential)
    (item.size, item.sha256, item.expiresAt) = (defaults.size, defaults.sha256, defaults.expiresAt)
    if let fault = item.link?.fault { return problem(IntakeProblem(item.origin, "\(fault); check the link")) }
    add(item)
  }

  private func add(_ item: IntakeItem) {
    if item.url != nil, !fetches {
      return problem(
        IntakeProblem(
          item.origin, "the pipeline fetches no links; add 'lanes: { downloads: { use: http } }' to it"))
    }
    if item.url == nil, let refusal = bound?.problem(item.file, origin: item.origin) {
      return problem(refusal)
    }
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
  static func resolve(_ path: [UInt8]) -> [UInt8]? {
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

extension IntakeItem {
  /// A file that was found.
  ///
  /// - Parameters:
  ///   - path: without links.
  ///   - device: of its folder.
  init(_ defaults: IntakeDefaults, _ path: [UInt8], _ file: FileState, in device: Int64?, origin: String) {
    let name = path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...]
    self.init(
      conversationId: defaults.conversationId, messageId: nil, senderId: defaults.senderId,
      participants: defaults.participants, fileName: String(decoding: name, as: UTF8.self), source: path,
      sourceSize: file.size, sourceModified: file.modified, priority: defaults.priority, origin: origin)
    folderDevice = device
  }
}
