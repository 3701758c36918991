import Testing

@testable import sluice_bench

struct MountsTests {
  private static let mounts = Mounts(
    """
    /dev/vda / ext4 rw,relatime 0 0
    proc /proc proc rw 0 0
    tmpfs /dev/shm tmpfs rw 0 0
    /dev/loop0 /a/b ext2 rw 0 0
    tmpfs /a/b tmpfs rw 0 0
    /dev/vdb /with\\040space xfs rw 0 0

    """)

  @Test(arguments: [
    ("/", "ext4"), ("/usr/lib", "ext4"), ("/dev/shm", "tmpfs"), ("/dev/shm/x", "tmpfs"),
    ("/dev/shmx", "ext4"),
    ("/with space/x", "xfs"),
  ])
  func theNearestMountPointAboveAPathCounts(_ path: String, _ type: String) {
    #expect(Self.mounts.type(of: path) == type)
  }

  @Test func whatWasMountedLaterHidesWhatIsBelow() {
    #expect(Self.mounts.type(of: "/a/b/c") == "tmpfs")
  }

  @Test func aPointIsOneWhereSomethingIsMounted() {
    #expect(Self.mounts.isPoint("/a/b"))
    #expect(!Self.mounts.isPoint("/a"))
  }

  @Test func withoutMountsThereIsNoType() {
    #expect(Mounts("").type(of: "/") == nil)
  }
}
