import Foundation
import Platform
import Testing

/// What the kernel would show of disks, in a folder.
struct DiskEncryptionTests {
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "disk-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func write(_ path: String, _ text: String) throws {
    let file = URL(fileURLWithPath: "\(folder)/\(path)")
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  private func disk(_ mounts: String, of path: String = "/") throws -> DiskEncryption {
    try write("mounts", mounts)
    defer { try? FileManager.default.removeItem(atPath: folder) }  // in the temporary folder
    return DiskEncryption.of(path, mounts: folder + "/mounts", devices: folder + "/block")
  }

  private func root(_ type: String, _ device: String = "8:1", _ source: String = "/dev/sda1") -> String {
    "22 1 \(device) / / rw,relatime shared:1 - \(type) \(source) rw\n"
  }

  @Test func aPlainDiskShowsNone() throws {
    try write("block/8:1/dev", "8:1\n")
    #expect(try disk(root("ext4")) == .unseen(below: "ext4 on /dev/sda1"))
  }

  @Test func luksIsSeen() throws {
    try write("block/253:0/dm/uuid", "CRYPT-LUKS2-0123-name\n")
    #expect(try disk(root("ext4", "253:0")) == .encrypted(by: "LUKS2"))
  }

  @Test func luksBelowAVolumeIsSeen() throws {
    try write("block/253:1/dm/uuid", "LVM-abc\n")
    try write("block/253:1/slaves/dm-0/dev", "253:0\n")
    try write("block/253:0/dm/uuid", "CRYPT-LUKS1-0123-name\n")
    #expect(try disk(root("xfs", "253:1")) == .encrypted(by: "LUKS1"))
  }

  @Test func oneOpenDiskOfTwoIsEnoughForNone() throws {
    try write("block/9:0/slaves/dm-0/dev", "253:0\n")
    try write("block/9:0/slaves/sdb/dev", "8:16\n")
    try write("block/253:0/dm/uuid", "CRYPT-PLAIN-name\n")
    try write("block/8:16/dev", "8:16\n")
    #expect(try disk(root("ext4", "9:0", "/dev/md0")) == .unseen(below: "ext4 on /dev/md0"))
  }

  @Test func whatCannotBeToldIsNotKnown() throws {
    try write("block/7:0/loop/backing_file", "/disk.img\n")
    for mounts in [
      root("ext4"), root("ext4", "7:0", "/dev/loop0"), root("overlay", "0:40", "overlay"),
      root("btrfs", "0:41", "/nowhere"), "",
      "22 1 8:1 / /elsewhere rw - ext4 /dev/sda1 rw\n", "nonsense\n",
    ] {
      try write("block/7:0/loop/backing_file", "/disk.img\n")
      #expect(try disk(mounts).name == "unknown", "\(mounts)")
    }
  }

  @Test func fileSystemsThatEncryptAndThoseInMemoryAreNamed() throws {
    #expect(try disk(root("fuse.gocryptfs", "0:50", "/cipher")) == .encrypted(by: "fuse.gocryptfs"))
    #expect(try disk(root("tmpfs", "0:51", "tmpfs")) == .memory("tmpfs"))
  }

  @Test func theMountThatHoldsTheFolderCounts() throws {
    try write("block/8:1/dev", "8:1\n")
    try write("a b/home/x", "")
    let point = (folder + "/a b").replacingOccurrences(of: " ", with: "\\040")
    let mounts =
      root("ext4") + "23 22 0:52 / \(folder)/a rw - ramfs x rw\n" + "24 22 0:53 / \(point) rw - ramfs x rw\n"
      + "25 22 0:54 / \(point) rw shared:5 master:2 - tmpfs x rw\n"
    #expect(try disk(mounts, of: folder + "/a b/home/not/there/yet") == .memory("tmpfs"))
  }

  @Test func thisMachineHasAnAnswer() {
    #expect(!DiskEncryption.of("/").description.isEmpty)
    #expect(DiskEncryption.of("/proc").name != "encrypted")
  }
}
