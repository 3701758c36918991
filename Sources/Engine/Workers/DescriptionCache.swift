import Glibc
import Pipeline
import Platform
import Wire

/// What plugins said they are, kept from one start to the next: most of what a start takes is to load each plugin only to ask it.
///
/// A description stands for the very file that gave it, by its path and its ``FileStamp``, and for the worker that asked. Nothing
/// rests on the cache: one that is missing, damaged, out of date or not this user's alone counts as empty, and one that cannot be
/// written is not.
package struct DescriptionCache {
  private struct Entry {
    var file: String
    var stamp: FileStamp
    /// The worker that asked.
    var worker: String
    var workerStamp: FileStamp
    var description: StageDescription
  }

  private let folder: String
  private let worker: String
  private let workerStamp: FileStamp?
  /// The last that were asked first.
  private var entries: [Entry] = []
  private var isChanged = false

  /// The file, in its folder.
  package static let name = "plugins"
  /// The first bytes of the file. Another format gets another number.
  private static let mark = Array("sluice plugins 2\n".utf8)
  /// How many plugins are remembered, and how long the file may be, in bytes.
  private static let countLimit = 256
  private static let sizeLimit = 1 << 20

  /// - Parameters:
  ///   - folder: where the file is; made once there is something to keep.
  ///   - worker: the worker's executable, which reads plugins and writes down what they say.
  package init(in folder: String, worker: String) {
    (self.folder, self.worker) = (folder, worker)
    workerStamp = FileStamp(of: worker)
    // Of another format, or damaged: nothing is known then.
    if let bytes = contents() { entries = (try? read(bytes)) ?? [] }
  }

  /// What the plugin in this file said; `nil`: it has to be asked.
  package func description(_ question: PluginQuestion) -> StageDescription? {
    guard let stamp = FileStamp(of: question.file) else { return nil }
    let entry = entries.first {
      $0.file == question.file && $0.stamp == stamp && $0.worker == worker && $0.workerStamp == workerStamp
    }
    return entry.flatMap { $0.description.id == question.id ? $0.description : nil }
  }

  /// Keeps what a plugin said.
  ///
  /// - Parameters:
  ///   - stamp: its file's before it was asked.
  ///   - asked: when it was asked, in milliseconds since 1970.
  package mutating func keep(_ description: StageDescription, _ stamp: FileStamp, asked: Int64) {
    // One that was changed just now, or meanwhile, may have been another when it was loaded.
    guard let workerStamp, stamp.isSettled(at: asked), FileStamp(of: description.file) == stamp else {
      return
    }
    let entry = Entry(
      file: description.file, stamp: stamp, worker: worker, workerStamp: workerStamp, description: description
    )
    entries.removeAll { $0.file == entry.file && $0.worker == worker }
    entries.insert(entry, at: 0)
    isChanged = true
  }

  // MARK: The file

  /// Only this user can have made it, and its folder.
  private static func isOwn(_ descriptor: Int32, _ kind: mode_t) -> Bool {
    var facts = stat()
    return fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == kind && facts.st_uid == geteuid()
      && facts.st_mode & 0o022 == 0
  }

  private func openFolder() -> Descriptor? {
    guard let folder = try? Descriptor.open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
      Self.isOwn(folder.number, S_IFDIR)
    else { return nil }
    return folder
  }

  private func contents() -> [UInt8]? {
    guard let folder = openFolder() else { return nil }
    let number = openat(folder.number, Self.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if number < 0 { return nil }
    let file = Descriptor(owning: number)
    guard Self.isOwn(file.number, S_IFREG) else { return nil }
    var bytes = [UInt8](repeating: 0, count: Self.sizeLimit + 1)
    let count = Glibc.read(file.number, &bytes, bytes.count)
    return (0...Self.sizeLimit).contains(count) ? Array(bytes[..<count]) : nil
  }

  /// Replaces the file by what is known now, if that is more than before. It is not synced: one that a loss of power has torn is
  /// told by its hash.
  package func save() {
    guard isChanged, let bytes = bytes(), let folder = madeFolder() else { return }
    let new = "\(Self.name).\(getpid())"
    let number = openat(
      folder.number, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    if number < 0 { return }
    let file = Descriptor(owning: number)
    if Glibc.write(file.number, bytes, bytes.count) != bytes.count
      || renameat(folder.number, new, folder.number, Self.name) != 0
    {
      unlinkat(folder.number, new, 0)
    }
  }

  /// The folder, made if it is missing. Nothing is made in the folder of another user, such as that of one who uses sudo.
  private func madeFolder() -> Descriptor? {
    func isOwn(_ path: Substring) -> Bool {
      var facts = stat()
      return stat(String(path), &facts) == 0 && facts.st_uid == geteuid()
    }
    func parent(_ path: Substring) -> Substring { path[..<(path.lastIndex(of: "/") ?? path.startIndex)] }
    let base = parent(folder[...])
    if !isOwn(base) && (!isOwn(parent(base)) || mkdir(String(base), 0o700) != 0) { return nil }
    mkdir(folder, 0o700)  // it may be there
    return openFolder()
  }

  // MARK: The format: the mark, the SHA-256 of the rest, and the rest as a frame

  /// `nil`: it cannot be hashed.
  private func bytes() -> [UInt8]? {
    var count = min(entries.count, Self.countLimit)
    while true {
      let rest = body(Array(entries[..<count]))
      if rest.count <= Self.sizeLimit - Self.mark.count - 32 {
        return Self.hash(rest).map { Self.mark + $0 + rest }
      }
      count /= 2
    }
  }

  private func body(_ entries: [Entry]) -> [UInt8] {
    var writer = FrameWriter(.description)
    writer.write(entries) { writer, entry in
      writer.write(entry.file)
      entry.stamp.write(to: &writer)
      writer.write(entry.worker)
      entry.workerStamp.write(to: &writer)
      entry.description.frame.withUnsafeBytes { writer.write($0) }
    }
    return writer.bytes
  }

  private func read(_ bytes: [UInt8]) throws -> [Entry] {
    let body = Array(bytes.dropFirst(Self.mark.count + 32))
    guard bytes.starts(with: Self.mark), let hash = Self.hash(body),
      bytes[Self.mark.count...].starts(with: hash)
    else { throw FrameError("no cache of this format") }
    return try body.withUnsafeBytes { bytes in
      var reader = FrameReader(bytes)
      guard try reader.kind() == .description else { throw FrameError("no cache of this format") }
      return try reader.elements(atMost: Self.countLimit) { (reader) throws(FrameError) in
        let file = try reader.requiredText(atMost: 4096)
        let stamp = try FileStamp(&reader)
        let worker = try reader.requiredText(atMost: 4096)
        let workerStamp = try FileStamp(&reader)
        guard let frame = try reader.textBytes() else { throw FrameError("no description") }
        var inner = FrameReader(frame)
        guard try inner.kind() == .description else { throw FrameError("no description") }
        return Entry(
          file: file, stamp: stamp, worker: worker, workerStamp: workerStamp,
          description: try StageDescription(&inner, file: file))
      }
    }
  }

  private static func hash(_ bytes: [UInt8]) -> [UInt8]? {
    guard let hash = try? SHA256() else { return nil }
    hash.begin()
    bytes.withUnsafeBytes { hash.add($0) }
    return hash.finish()
  }
}

extension FileStamp {
  fileprivate func write(to writer: inout FrameWriter) {
    for value in [device, inode] { writer.write(value) }
    for value in [size, modified, changed] { writer.write(value) }
  }

  fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
    self.init(
      device: try reader.integer(UInt64.self), inode: try reader.integer(UInt64.self),
      size: try reader.integer(Int64.self), modified: try reader.integer(Int64.self),
      changed: try reader.integer(Int64.self))
  }
}
