import Control
import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Manifest
import Pipeline
import Platform
import Scheduler
import Synchronization
import Wire

/// Takes in the files of folders, and those that come, once they are at rest; and consumes the sources of what is completed.
///
/// It remembers nothing over a restart, and needs not: what is in the folders is found again, and the ledger says what is known.
///
/// Unchecked because only the thread of ``run()`` uses it, but for ``completed(_:)`` and ``stop()``.
final class InboxWatch: @unchecked Sendable {
  private struct Root {
    let path: [UInt8]
    /// The folder that is watched; `nil`: it is away.
    var folder: (dev_t, ino_t)?
    /// The kernel watches the folder no longer, whatever its identity says.
    var isEnded = false
  }

  private var roots: [Root]
  /// The folders as they were named, which may be by links, with where that led to.
  private var names: [(name: String, path: [UInt8])]
  private let mounts = MountWatch()
  private let defaults: IntakeDefaults
  private let home: Home
  private let ledger: any LedgerQueries
  private let consumption: Consumption
  private let send: ([IntakeItem]) -> Bool
  private let problem: (IntakeProblem) -> Void
  private let watch: FolderWatch
  private var quiet: QuietFiles
  private var batch: [IntakeItem] = []
  private var places = MaildirPlaces()
  /// The last folder looked up, with its device.
  private var lastFolder: (path: [UInt8], device: Int64?)?
  private var rootsCheckedAt: UInt64 = 0
  /// When to look through all folders again, in nanoseconds of the monotonic clock; `nil`: changes are told.
  private var nextScan: UInt64?
  /// Some folder cannot be watched.
  private var isBlind = false
  private var isRefused = false

  /// What other threads say.
  private let ended = Mutex<[[UInt8]]>([])
  private let isStopping = Atomic(false)
  private let wake: Int32

  /// Files in one transaction of the ledger.
  private static let batchSize = 500
  /// How often folders are looked through that cannot be watched, in nanoseconds.
  private static let scanInterval: UInt64 = 30_000_000_000

  /// - Parameters:
  ///   - roots: without links.
  ///   - consumption: what becomes of sources; `nil`: they stay.
  ///   - send: takes a batch. False: no more are accepted.
  init(
    _ roots: [[UInt8]], _ arguments: WatchArguments, consumption: Consumption.Way?, home: Home,
    send: @escaping ([IntakeItem]) -> Bool, problem: @escaping (IntakeProblem) -> Void
  ) throws {
    self.roots = roots.map { Root(path: $0) }
    names = zip(arguments.folders, roots).map { ($0, $1) }
    (defaults, self.home, self.send, self.problem) = (arguments.defaults, home, send, problem)
    ledger = try home.reader()
    self.consumption = Consumption(consumption, home: home) { problem(IntakeProblem("--consume", $0)) }
    watch = try FolderWatch()
    quiet = QuietFiles(period: arguments.quietPeriod)
    wake = sluice_eventfd()
    if wake < 0 { throw SystemError("making an eventfd") }
  }

  deinit {
    close(wake)
  }

  // MARK: Any thread

  /// An attachment is completed, and that is durable.
  func completed(_ path: [UInt8]) {
    ended.withLock { $0.append(path) }
    sluice_eventfd_raise(wake)
  }

  /// Lets ``run()`` return soon.
  func stop() {
    isStopping.store(true, ordering: .relaxed)
    sluice_eventfd_raise(wake)
  }

  // MARK: The thread

  func run() {
    while !isOver {
      places.forget()
      checkRoots()
      if let nextScan, nextScan <= Clock.monotonic() { scanAll() }
      takeChanges()
      takeEnded()
      for (path, file, isWritten) in quiet.takeDue(at: Clock.monotonic()) {
        look(path, file, isWritten: isWritten)
      }
      flush()
      wait()
    }
  }

  private var isOver: Bool { isRefused || isStopping.load(ordering: .relaxed) }

  private func wait() {
    if isOver { return }
    let now = Clock.monotonic()
    let left = min((quiet.nextDue() ?? .max).subtractingWithFloor(now), 1_000_000_000)
    var waiting = [watch.readable, wake].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    poll(&waiting, nfds_t(waiting.count), Int32(left / 1_000_000) + 1)
    sluice_eventfd_clear(wake)
  }

  // MARK: Folders

  /// Sees that the watched folders are those that are there.
  private func checkRoots() {
    let now = Clock.monotonic()
    if now - rootsCheckedAt < 1_000_000_000 { return }
    rootsCheckedAt = now
    for index in roots.indices {
      var facts = stat()
      let path = roots[index].path
      let isThere = path.withPath { lstat($0, &facts) } == 0 && facts.st_mode & S_IFMT == S_IFDIR
      let folder = isThere ? (facts.st_dev, facts.st_ino) : nil
      // A folder made anew may have the inode number of the one before: the kernel's word is needed as well.
      if let before = roots[index].folder, let folder, before == folder, !roots[index].isEnded { continue }
      if folder == nil && roots[index].folder == nil && rootsAreKnown { continue }
      if roots[index].folder != nil { watch.remove(path) }
      (roots[index].folder, roots[index].isEnded) = (folder, false)
      if isThere {
        scan(path, isFirst: true)
      } else {
        problem(
          IntakeProblem(
            Self.text(path), "the watched folder is away; it is watched again as soon as it is there"))
      }
    }
    rootsAreKnown = true
    for place in mounts.changes() where root(of: place) != nil {
      watch.remove(place)
      if identity(place) != nil { scan(place, isFirst: true) }
    }
    names.removeAll { name, path in
      guard let now = InputWalker.resolve(Array(name.utf8)), now != path else { return false }
      problem(
        IntakeProblem(
          name,
          "leads to \(Self.text(now)) now, and \(Self.text(path)) is still watched; start again to watch the other"
        ))
      return true
    }
  }

  private var rootsAreKnown = false

  private func scanAll() {
    nextScan = isBlind ? Clock.monotonic() + Self.scanInterval : nil
    for root in roots where root.folder != nil { scan(root.path, isFirst: false) }
  }

  /// Watches a folder with all in it, and takes up what is there. A folder is watched before it is listed, so that nothing is
  /// missed.
  ///
  /// - Parameter isFirst: what is not taken in has not been told yet.
  private func scan(_ folder: [UInt8], isFirst: Bool) {
    var folders = [folder]
    var count = 0
    let own = identity(Array(home.path.utf8))
    while let path = folders.popLast(), !isOver {
      if let own, let other = identity(path), own == other { continue }  // Sluice's own state is not taken in
      if place(path) == .closed { continue }
      if !watch.add(path) { goBlind(path) }
      guard let names = FolderListing(path) else {
        if isFirst && errno != ENOENT { report(path, String(cString: strerror(errno))) }
        continue
      }
      for name in names {
        if isOver { return }
        count += 1
        if count % 256 == 0 { takeChanges() }  // lest the kernel's queue overflows meanwhile
        let inner = path + [UInt8(ascii: "/")] + name
        var facts = stat()
        guard inner.withPath({ lstat($0, &facts) }) == 0 else { continue }
        switch facts.st_mode & S_IFMT {
        case S_IFREG: found(inner, facts)
        case S_IFDIR: folders.append(inner)
        case S_IFLNK: if isFirst { report(inner, "a symbolic link; not followed") }
        default: if isFirst { report(inner, "neither a file nor a folder; passed over") }
        }
      }
    }
  }

  private func identity(_ path: [UInt8]) -> (dev_t, ino_t)? {
    var facts = stat()
    return path.withPath { stat($0, &facts) } == 0 ? (facts.st_dev, facts.st_ino) : nil
  }

  /// A folder cannot be watched: all are looked through now and then.
  private func goBlind(_ path: [UInt8]) {
    let number = errno
    if number == ENOENT || number == ENOTDIR { return }  // it has gone
    if !isBlind {
      let remedy = number == ENOSPC ? "; raise fs.inotify.max_user_watches" : ""
      report(
        path,
        "cannot be watched: \(String(cString: strerror(number)))\(remedy); until then all watched folders are looked "
          + "through every 30 seconds")
    }
    isBlind = true
    nextScan = nextScan ?? Clock.monotonic() + Self.scanInterval
  }

  private func takeChanges() {
    while true {
      let changes = watch.read()
      if changes.isEmpty { return }
      for change in changes {
        switch change {
        case .written(let path): wait(for: path, isWritten: true)
        case .finished(let path): wait(for: path, isWritten: false)
        case .folder(let path):
          places.forget()  // a Maildir becomes one with the last of its folders
          scan(path, isFirst: true)
        case .ended(let path):
          for index in roots.indices where roots[index].path == path { roots[index].isEnded = true }
        case .lost: nextScan = 0
        }
      }
    }
  }

  private func wait(for path: [UInt8], isWritten: Bool?) {
    var facts = stat()
    guard path.withPath({ lstat($0, &facts) }) == 0, facts.st_mode & S_IFMT == S_IFREG else { return }
    if Self.claim(path) != nil || isPassedOver(path) { return }
    // A file that was linked here whole is not closed after it was made.
    let isWritten = isWritten == true && facts.st_nlink > 1 ? nil : isWritten
    quiet.add(path, FileState(facts), isWritten: isWritten, at: Clock.monotonic())
  }

  // MARK: Files

  private static func claim(_ path: [UInt8]) -> ClaimedName? {
    ClaimedName(path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...])
  }

  /// A file that was there already.
  private func found(_ path: [UInt8], _ facts: stat) {
    if let claim = Self.claim(path) {
      guard let all = try? ledger.attachments(idPrefix: claim.id) else { return }  // it is found again
      return consumption.settle(path, claim, all.first { $0.origin.id == claim.id })
    }
    if isPassedOver(path) { return }
    let file = FileState(facts)
    // One that has been at rest for long enough need not wait, if the kernel knows that no one writes to it.
    let age = Clock.now() &* 1_000_000 &- file.modified
    if age >= Int64(clamping: quiet.period) && path.withPath({ sluice_has_writer($0) }) == 0 {
      take(path, facts)
    } else {
      quiet.add(path, file, isWritten: nil, at: Clock.monotonic())
    }
  }

  /// A file that has waited.
  ///
  /// - Parameters:
  ///   - file: what it was when it began to wait.
  ///   - isWritten: the last that the kernel said is that it is being written.
  private func look(_ path: [UInt8], _ file: FileState, isWritten: Bool) {
    var facts = stat()
    guard path.withPath({ lstat($0, &facts) }) == 0, facts.st_mode & S_IFMT == S_IFREG else { return }
    let now = FileState(facts)
    let writer = path.withPath { sluice_has_writer($0) }
    if now.size != file.size || now.modified != file.modified || writer == 1 || (writer < 0 && isWritten) {
      return quiet.add(path, now, isWritten: isWritten, at: Clock.monotonic())
    }
    take(path, facts)
  }

  /// A file at rest: takes it in, or consumes it where it is known as completed.
  private func take(_ path: [UInt8], _ facts: stat) {
    if isPassedOver(path) { return }
    var item = item(path, facts)
    do {
      guard let known = try ledger.known(item) else {
        if item.isMaildirMessage, let message = MaildirPath(path) {
          guard let whole = try IntakeItem(defaults, message) else { return }
          item = whole
        }
        batch.append(item)
        if batch.count >= Self.batchSize { flush() }
        return
      }
      consume(path, facts, known)
    } catch let refusal as IntakeProblem {
      problem(refusal)
    } catch {
      quiet.add(path, FileState(facts), isWritten: false, at: Clock.monotonic())
    }
  }

  private func takeEnded() {
    let paths = ended.withLock { paths in
      defer { paths.removeAll(keepingCapacity: true) }
      return paths
    }
    for source in paths where root(of: source) != nil {
      var (path, facts) = (source, stat())
      if path.withPath({ lstat($0, &facts) }) != 0 {
        guard let renamed = MaildirPath(path)?.current(), renamed.withPath({ lstat($0, &facts) }) == 0
        else { continue }
        path = renamed
      }
      let item = item(path, facts)
      if let known = try? ledger.known(item) {
        consume(path, facts, known)
      } else {
        // It has changed since, or the ledger cannot be read at the moment.
        wait(for: path, isWritten: nil)
      }
    }
  }

  /// As far as its place says.
  private func item(_ path: [UInt8], _ facts: stat) -> IntakeItem {
    let device = folderDevice(of: path)
    if place(of: path) == .messages, let message = MaildirPath(path) {
      return IntakeItem(defaults, message, FileState(facts), in: device)
    }
    return IntakeItem(defaults, path, FileState(facts), in: device, origin: Self.text(path))
  }

  private func place(_ folder: [UInt8]) -> MaildirPlaces.Place {
    root(of: folder).map { places.place(folder, below: $0) } ?? .ordinary
  }

  /// Of the folder that a file lies in.
  private func place(of path: [UInt8]) -> MaildirPlaces.Place {
    place(Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)]))
  }

  /// Whether a Maildir is around a file that is none of its messages.
  private func isPassedOver(_ path: [UInt8]) -> Bool {
    switch place(of: path) {
    case .ordinary: false
    case .messages: MaildirPath(path) == nil
    case .around, .closed: true
    }
  }

  private func consume(_ path: [UInt8], _ facts: stat, _ known: KnownFile) {
    guard let root = root(of: path) else { return }
    if case .tooEarly = consumption.consume(path, facts, of: known, below: root) {
      quiet.add(path, FileState(facts), isWritten: false, at: Clock.monotonic())
    }
  }

  private func root(of path: [UInt8]) -> [UInt8]? {
    roots.first { IntakeBound.contains($0.path, path) }?.path
  }

  private func folderDevice(of path: [UInt8]) -> Int64? {
    let folder = Array(path[..<max(path.lastIndex(of: UInt8(ascii: "/")) ?? 0, 1)])
    if let lastFolder, lastFolder.path == folder { return lastFolder.device }
    let device = identity(folder).map { InputWalker.number($0.0) }
    lastFolder = (folder, device)
    return device
  }

  private func flush() {
    if batch.isEmpty { return }
    if !send(batch) { isRefused = true }
    batch.removeAll(keepingCapacity: true)
  }

  // MARK: Words

  private func report(_ path: [UInt8], _ reason: String) { problem(IntakeProblem(Self.text(path), reason)) }

  private static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }
}

extension UInt64 {
  /// The difference; 0 where it would be negative.
  fileprivate func subtractingWithFloor(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
