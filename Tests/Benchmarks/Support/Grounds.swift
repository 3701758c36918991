import Glibc
import Platform

/// Makes the disks that rows are measured on, and removes them.
///
/// Root gets an ext4 in a file and a tmpfs. They are mounted in a mount namespace of the bench's own, so that nothing stays
/// mounted when it is killed, and no other program meets them.
struct Grounds {
  private(set) var all: [Ground] = []
  /// Why a disk is not what was asked for.
  private(set) var notes: [String] = []

  private static let image = Ground.path + "/journaled.img"
  private static let gigabyte: Int64 = 1 << 30
  private let isQuick: Bool

  /// - Parameter kinds: `nil`: one that is journaled and one in memory, or the folder's own where neither can be made.
  init(_ kinds: [DiskKind]?, isQuick: Bool) throws {
    self.isQuick = isQuick
    try Self.clear()
    for kind in kinds ?? [.journaled, .memory] {
      if let ground = try make(kind) { all.append(ground) }
    }
    if all.isEmpty { all.append(try here()) }
    for ground in all {
      progress("\(ground.disk.fileSystem), \(ground.disk.origin): a sync takes \(ground.disk.syncCost)")
    }
  }

  /// Removes what was made.
  func delete() throws {
    for ground in all { try ground.delete() }
    try Self.clear()
  }

  // MARK: Making them

  private mutating func make(_ kind: DiskKind) throws -> Ground? {
    do {
      switch kind {
      case .here: return try here()
      case .journaled: return try Ground(try journaled(), origin: "in a file below .build/bench")
      case .memory:
        if Namespace.isOwn { return try Ground(try Self.memory(), origin: "mounted for the bench") }
        return try Ground(try Self.shared(), origin: "/dev/shm")
      }
    } catch let skipped as Skipped {
      notes.append("no \(kind == .memory ? "tmpfs" : "ext4 in a file"): \(skipped.reason)")
      progress(notes[notes.count - 1])
      // What takes the place of a disk with a journal is the folder's own, which has one more often than not.
      return kind == .journaled ? try here() : nil
    }
  }

  private func here() throws -> Ground {
    try Ground(Ground.path + "/here", origin: "that of .build/bench", isKept: true)
  }

  /// Mounts an ext4 that lies in a file.
  ///
  /// The file is written from end to end before. In one that has holes, or is only reserved, each first write changes the file
  /// system below too: syncs were measured at up to ten times as long, and at a different length each time.
  private func journaled() throws -> String {
    guard Namespace.isOwn else { throw Skipped(reason: Namespace.reason) }
    let gigabytes = isQuick ? 4 : 8
    if try Self.free(Ground.path) < 2 * Int64(gigabytes) * Self.gigabyte {
      throw Skipped(reason: "\(Ground.path) has less than \(2 * gigabytes) GiB free")
    }
    let folder = Ground.path + "/journaled"
    try Files.makeFolder(folder)
    progress("writing a file of \(gigabytes) GiB for an ext4")
    try Self.run(
      "dd", ["if=/dev/zero", "of=\(Self.image)", "bs=4M", "count=\(gigabytes * 256)", "conv=fsync"])
    // Inode tables that are not written yet stay so: a thread of the kernel would write them while others are measured.
    try Self.run(
      "mkfs.ext4", ["-q", "-F", "-i", "4096", "-E", "lazy_itable_init=1,lazy_journal_init=1", Self.image])
    let device = try Self.attach()
    // It goes when its last user does: once mounted, with the mount.
    defer { _ = try? Self.run("losetup", ["--detach", device]) }
    try Self.run("mount", ["-t", "ext4", "-o", "noinit_itable", device, folder])
    return folder
  }

  /// Direct input and output keeps its pages out of memory a second time, if the file system below has it.
  private static func attach() throws -> String {
    do {
      return try run("losetup", ["--find", "--show", "--direct-io=on", image])
    } catch is Skipped {
      return try run("losetup", ["--find", "--show", image])
    }
  }

  private static func memory() throws -> String {
    let size = min(16 * gigabyte, Int64(MachineMemory.available()) * 6 / 10)
    let folder = Ground.path + "/memory"
    try Files.makeFolder(folder)
    try run("mount", ["-t", "tmpfs", "-o", "size=\(size),nr_inodes=0", "tmpfs", folder])
    return folder
  }

  /// A folder in the tmpfs that every user may write to.
  private static func shared() throws -> String {
    let parent = "/dev/shm"
    guard Mounts((try? Files.text("/proc/self/mounts")) ?? "").type(of: parent) == "tmpfs",
      access(parent, W_OK) == 0
    else { throw Skipped(reason: "\(Namespace.reason), and /dev/shm is none that it may write to") }
    try Files.makeFolder(sharedFolder)
    return sharedFolder
  }

  private static var sharedFolder: String { "/dev/shm/sluice-bench-\(getuid())" }

  // MARK: Removing them

  /// Removes what this bench has made, or one that was killed has left.
  private static func clear() throws {
    if Namespace.isOwn {
      for name in ["journaled", "memory"] {
        let folder = Ground.path + "/" + name
        // A process keeps the locks of the ledgers that it has opened.
        if Mounts(try Files.text("/proc/self/mounts")).isPoint(folder) { try run("umount", ["-l", folder]) }
        rmdir(folder)
      }
    }
    unlink(image)
    try Files.delete(sharedFolder)
  }

  // MARK: Programs

  /// Runs a program of the system's, and returns the first line of what it said. A failure is a reason to do without.
  @discardableResult
  private static func run(_ name: String, _ arguments: [String]) throws -> String {
    guard let program = Settings.program(name, besides: ["/usr/sbin", "/sbin"]) else {
      throw Skipped(reason: "no \(name)")
    }
    let child = try Child([program] + arguments, out: Ground.output("disk"))
    guard try child.end(within: 300).status == 0 else {
      throw Skipped(reason: "\(name): \(Files.tail(child.errors))")
    }
    return try Files.text(child.out).split(separator: "\n").first.map(String.init) ?? ""
  }

  private static func free(_ folder: String) throws -> Int64 {
    var facts = statvfs()
    if statvfs(folder, &facts) != 0 { throw SystemError("looking at \(folder)") }
    return Int64(facts.f_bavail) * Int64(facts.f_frsize)
  }
}

/// The mount namespace that the bench runs in.
enum Namespace {
  private static let sign = "SLUICE_BENCH_NAMESPACE"

  /// Whether it is the bench's own.
  static var isOwn: Bool { Settings.environment[sign] == "own" }

  /// Why there is none of its own.
  static var reason: String {
    getuid() == 0 ? "this machine gives the bench no mount namespace of its own" : "only root can mount one"
  }

  /// Runs the bench again in a namespace of its own, if that can be had: then it does not return.
  static func enter() throws {
    guard getuid() == 0, !isOwn, let unshare = Settings.program("unshare") else { return }
    let words = [unshare, "--mount", "--propagation", "private"]
    guard try Child(words + ["/bin/true"], out: Ground.output("unshare")).end(within: 10).status == 0 else {
      return
    }
    setenv(sign, "own", 1)
    let own = CStrings(words + [Settings.absolute("/proc/self/exe")] + CommandLine.arguments.dropFirst())
    execv(unshare, own.pointers)
    throw SystemError("starting \(unshare)")
  }
}
