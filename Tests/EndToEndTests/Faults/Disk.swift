import Foundation
import Platform

/// A disk as a power cut may leave it. Synced data is there. Each unsynced write may be there, or not, or in
/// part, by sectors. Of the changes of names, a journaling file system keeps a prefix, in order.
struct Disk {
  /// A file's bytes: the part known to be on disk, and the writes since.
  private struct File {
    var synced: [UInt8] = []
    var pending: [Change] = []
  }

  private enum Change {
    case write(offset: Int, data: [UInt8])
    case truncate(Int)
  }

  /// A change of names. Changes before the number of a synced folder are on disk.
  private enum Naming {
    case name(String, file: Int)
    case remove(String)
    case rename(String, String)
    case folder(String)
  }

  private var files: [File] = []
  /// The file that each inode refers to at the moment.
  private var inodes: [UInt64: Int] = [:]
  /// The names as every process sees them.
  private var names: [String: Int] = [:]
  private var namings: [Naming] = []
  private var syncedNamings = 0
  private let fileSyncsCarryNames: Bool
  /// What was printed so far.
  private(set) var told: [UInt8] = []

  /// - Parameter fileSyncsCarryNames: whether syncing a file makes all earlier name changes durable, or none.
  init(fileSyncsCarryNames: Bool) {
    self.fileSyncsCarryNames = fileSyncsCarryNames
  }

  /// Adds what lies below a folder, as it is, as synced before all else.
  mutating func add(allBelow folder: String) throws {
    for path in FileManager.default.subpaths(atPath: folder) ?? [] {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder)
      if isFolder.boolValue {
        namings.append(.folder(path))
        continue
      }
      files.append(File(synced: [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)")))))
      names[path] = files.count - 1
      namings.append(.name(path, file: files.count - 1))
    }
    syncedNamings = namings.count
  }

  mutating func apply(_ operation: Journal.Operation) {
    switch operation {
    case .open(let ino, let path, let isNew):
      if isNew || (names[path] == nil && inodes[ino] == nil) {
        files.append(File())
        inodes[ino] = files.count - 1
        names[path] = files.count - 1
        namings.append(.name(path, file: files.count - 1))
      } else if let file = names[path] {
        inodes[ino] = file
      }
    case .write(let ino, let offset, let data): change(ino, .write(offset: offset, data: data))
    case .truncate(let ino, let length): change(ino, .truncate(length))
    case .sync(let ino, _):
      // Journals are written in order: syncing a folder makes all earlier name changes durable. File systems
      // differ on whether syncing a file does the same, so nothing may rely on it.
      guard let file = inodes[ino] else {
        syncedNamings = namings.count
        return
      }
      for change in files[file].pending { Self.make(change, &files[file].synced) }
      files[file].pending.removeAll()
      if fileSyncsCarryNames { syncedNamings = namings.count }
    case .rename(let from, let to):
      names[to] = names.removeValue(forKey: from)
      namings.append(.rename(from, to))
    case .link(let from, let to):
      guard let file = names[from] else { return }
      names[to] = file
      namings.append(.name(to, file: file))
    case .unlink(let path):
      names[path] = nil
      namings.append(.remove(path))
    case .mkdir(let path): namings.append(.folder(path))
    case .told(let data): told += data
    }
  }

  private mutating func change(_ ino: UInt64, _ change: Change) {
    guard let file = inodes[ino] else { return }
    files[file].pending.append(change)
  }

  private static func make(_ change: Change, _ bytes: inout [UInt8]) {
    switch change {
    case .truncate(let length):
      if length < bytes.count { bytes.removeLast(bytes.count - length) }
      if length > bytes.count { bytes += [UInt8](repeating: 0, count: length - bytes.count) }
    case .write(let offset, let data):
      if offset > bytes.count { bytes += [UInt8](repeating: 0, count: offset - bytes.count) }
      let end = min(offset + data.count, bytes.count)
      bytes.replaceSubrange(offset..<end, with: data)
    }
  }

  // MARK: The cut

  private static let sector = 512

  /// Writes the remaining data into a folder.
  func image(in folder: String, _ random: inout SplitMix) throws {
    var left: [String: Int] = [:]
    var folders: Set<String> = []
    let kept = Int.random(in: syncedNamings...max(namings.count, syncedNamings), using: &random)
    for naming in namings.prefix(kept) {
      switch naming {
      case .name(let path, let file): left[path] = file
      case .remove(let path): left[path] = nil
      case .rename(let from, let to): left[to] = left.removeValue(forKey: from)
      case .folder(let path): folders.insert(path)
      }
    }
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for path in folders.sorted() {
      try manager.createDirectory(atPath: folder + "/" + path, withIntermediateDirectories: true)
    }
    // The share that survives differs from cut to cut: all, most, little, nothing.
    let share = [0.0, 0.1, 0.5, 0.9, 1.0].randomElement(using: &random) ?? 0.5
    var written: [Int: String] = [:]
    for (path, file) in left.sorted(by: { $0.key < $1.key }) where !path.hasSuffix("-shm") {
      let place = folder + "/" + path
      if let first = written[file] {
        try manager.linkItem(atPath: first, toPath: place)
        continue
      }
      written[file] = place
      try Data(content(of: files[file], share, &random)).write(to: URL(fileURLWithPath: place))
    }
  }

  private func content(of file: File, _ share: Double, _ random: inout SplitMix) -> [UInt8] {
    var bytes = file.synced
    for change in file.pending where Double.random(in: 0..<1, using: &random) < share {
      guard case .write(let offset, let data) = change, data.count > Self.sector,
        Int.random(in: 0..<3, using: &random) == 0
      else {
        Self.make(change, &bytes)
        continue
      }
      // A torn write: only some of its sectors.
      for start in stride(from: 0, to: data.count, by: Self.sector) where Bool.random(using: &random) {
        let piece = Array(data[start..<min(start + Self.sector, data.count)])
        Self.make(.write(offset: offset + start, data: piece), &bytes)
      }
    }
    return bytes
  }
}
