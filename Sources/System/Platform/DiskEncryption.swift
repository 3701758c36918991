import CPlatform
import Glibc

/// Whether what is written to a folder is encrypted on its way to the disk, as far as the kernel tells.
public enum DiskEncryption: Sendable, Equatable {
  /// By what: `fscrypt`, `LUKS2`, `fuse.gocryptfs`.
  case encrypted(by: String)
  /// None is seen below this file system: `ext4 on /dev/vda1`. A disk, or the host of a virtual machine, may encrypt unseen.
  case unseen(below: String)
  /// It lies in memory.
  case memory(String)
  /// For this reason.
  case unknown(String)

  /// One word for programs.
  public var name: String {
    switch self {
    case .encrypted: "encrypted"
    case .unseen: "none"
    case .memory: "memory"
    case .unknown: "unknown"
    }
  }

  /// One phrase for people.
  public var description: String {
    switch self {
    case .encrypted(let means): "encrypted (\(means))"
    case .unseen(let place): "no encryption is seen (\(place)); the disk itself or a host may still encrypt"
    case .memory(let type): "in memory (\(type))"
    case .unknown(let reason): "not known (\(reason))"
    }
  }

  /// Asks for a folder, or where it is not there yet for the one it will be made in.
  ///
  /// - Parameters:
  ///   - mounts: the kernel's list of mounts (proc_pid_mountinfo(5)).
  ///   - devices: the kernel's folder of block devices, by number (sysfs(5)).
  public static func of(
    _ path: String, mounts: String = "/proc/self/mountinfo", devices: String = "/sys/dev/block"
  ) -> DiskEncryption {
    guard let place = Self.existing(path) else { return .unknown("\(path) is not there") }
    if sluice_is_encrypted(place) == 1 { return .encrypted(by: "fscrypt") }
    guard let list = text(mounts) else { return .unknown("\(mounts) cannot be read") }
    guard let mount = mount(of: place, in: list) else { return .unknown("no mount holds \(place)") }
    switch mount.type {
    case "ecryptfs", "fuse.gocryptfs", "fuse.encfs", "fuse.cryfs", "fuse.securefs":
      return .encrypted(by: mount.type)
    case "tmpfs", "ramfs": return .memory(mount.type)
    default: break
    }
    // The number of a file system over several disks is none of a disk's.
    guard let number = mount.device.hasPrefix("0:") ? Self.number(ofDevice: mount.source) : mount.device
    else {
      return .unknown("\(mount.type) does not tell which disk is below")
    }
    switch means(of: number, devices, depth: 0) {
    case .known(let means?): return .encrypted(by: means)
    case .known(nil): return .unseen(below: "\(mount.type) on \(mount.source)")
    case .unknown(let reason): return .unknown(reason)
    }
  }

  private enum Means {
    /// `nil`: none.
    case known(String?)
    case unknown(String)
  }

  /// How a block device encrypts: by itself, or each device below it.
  private static func means(of number: String, _ devices: String, depth: Int) -> Means {
    let folder = "\(devices)/\(number)"
    guard depth < 8, access(folder, F_OK) == 0 else {
      return .unknown("the kernel shows no device \(number)")
    }
    // As cryptsetup names them: `CRYPT-LUKS2-` and the rest.
    if let id = text("\(folder)/dm/uuid"), id.hasPrefix("CRYPT-") {
      let type = id.dropFirst("CRYPT-".count).prefix { $0 != "-" }
      return .known(type == "PLAIN" ? "dm-crypt" : String(type))
    }
    if access("\(folder)/loop/backing_file", F_OK) == 0 {
      return .unknown("device \(number) is a file of another file system")
    }
    var found: String?
    for below in names(in: "\(folder)/slaves") {
      guard let number = text("\(folder)/slaves/\(below)/dev").map({ $0.filter { !$0.isWhitespace } }) else {
        return .unknown("the kernel does not tell what is below device \(number)")
      }
      switch means(of: number, devices, depth: depth + 1) {
      case .known(let means?): found = means
      case .known(nil): return .known(nil)
      case .unknown(let reason): return .unknown(reason)
      }
    }
    return .known(found)
  }

  private struct Mount {
    /// `major:minor`.
    var device: String
    var point: String
    var type: String
    var source: String
  }

  /// The mount that holds a path: the longest, and of several in one place the last.
  private static func mount(of path: String, in list: String) -> Mount? {
    var best: Mount?
    for line in list.split(separator: "\n") {
      let fields = line.split(separator: " ").map(String.init)
      // Between the options and the type there may be more fields, up to a dash.
      guard fields.count > 6, let dash = fields[6...].firstIndex(of: "-"), fields.count > dash + 2 else {
        continue
      }
      let mount = Mount(
        device: fields[2], point: unescaped(fields[4]), type: fields[dash + 1],
        source: unescaped(fields[dash + 2]))
      let holds = path == mount.point || path.hasPrefix(mount.point == "/" ? "/" : mount.point + "/")
      if holds, mount.point.utf8.count >= best?.point.utf8.count ?? 0 { best = mount }
    }
    return best
  }

  /// Spaces, tabs, newlines and backslashes are written as `\\040` and so on.
  private static func unescaped(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
    let bytes = Array(text.utf8)
    var plain: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\"), index + 3 < bytes.count,
        let byte = UInt8(String(decoding: bytes[index + 1...index + 3], as: UTF8.self), radix: 8)
      {
        plain.append(byte)
        index += 4
      } else {
        plain.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: plain, as: UTF8.self)
  }

  private static func number(ofDevice path: String) -> String? {
    var facts = stat()
    guard path.hasPrefix("/dev/"), stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFBLK else {
      return nil
    }
    let device = UInt64(facts.st_rdev)
    // As gnu_dev_major(3), which is a macro in some versions.
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & ~0xFF & 0xFFFF_FFFF
    return "\(major):\(minor)"
  }

  /// The path without links, or that of the closest folder above it that is there.
  private static func existing(_ path: String) -> String? {
    var path = path
    while true {
      if let real = realpath(path, nil) {
        defer { free(real) }
        return String(cString: real)
      }
      guard path != "/", path != "." else { return nil }
      let slash = path.lastIndex(of: "/")
      path = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }
  }

  private static func text(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count < 4 << 20 {
      let count = fread(&piece, 1, piece.count, file)
      if count == 0 { break }
      bytes += piece[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func names(in folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}
