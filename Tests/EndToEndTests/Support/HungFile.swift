import Foundation
import Glibc
import Synchronization

/// A regular file whose file system (FUSE) answers all but reads, which hang until ``end()``. Only root may mount one.
final class HungFile {
  /// Open for reading.
  let descriptor: Int32
  private let path: String
  private let device: Int32
  private let count = Counter()

  private final class Counter: Sendable {
    let reads = Atomic(0)
  }

  struct Failure: Error {
    var call: String
    var number = errno
  }

  /// Reads that hang.
  var reads: Int { count.reads.load(ordering: .relaxed) }

  init(_ path: String) throws {
    self.path = path
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC)
    if device < 0 { throw Failure(call: "open") }
    let options = "fd=\(device),rootmode=100000,user_id=0,group_id=0,allow_other"
    if mount("sluice", path, "fuse", 0, options) != 0 {
      let failure = Failure(call: "mount")
      close(device)
      throw failure
    }
    Thread.detachNewThread { [device, count] in Self.answer(device, count) }
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw Failure(call: "open of the file") }
  }

  deinit { end() }

  private var hasEnded = false

  /// Ends the file system: what hangs has an error.
  func end() {
    if hasEnded { return }
    hasEnded = true
    umount2(path, Int32(MNT_FORCE) | Int32(MNT_DETACH))
    umount2(path, Int32(MNT_DETACH))
    close(descriptor)
    close(device)
  }

  // MARK: The file system, by linux/fuse.h

  private static func answer(_ device: Int32, _ count: Counter) {
    var request = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let length = read(device, &request, request.count)
      if length < 0 && errno == EINTR { continue }
      if length < 40 { return }
      func number(_ place: Int, _ width: Int) -> UInt64 {
        (0..<width).reduce(0) { $0 | UInt64(request[place + $1]) << UInt64(8 * $1) }
      }
      let (operation, unique) = (number(4, 4), number(8, 8))
      switch operation {
      case 26: reply(device, unique, words([7, 31, 0, 0, 0, 1 << 16, 1]) + zeros(36))
      case 3:
        // An hour of validity; then number, size, blocks, three times, their nanoseconds, the mode and one link.
        let attributes =
          longs([3600, 0, 1, 100, 1, 0, 0, 0]) + words([0, 0, 0, 0o100644, 1, 0, 0, 0, 4096, 0])
        reply(device, unique, attributes)
      // Each read comes to it.
      case 14: reply(device, unique, longs([1]) + words([1, 0]))
      case 17: reply(device, unique, longs([1, 1, 1, 1, 1]) + words([4096, 255, 4096, 0]) + zeros(24))
      case 15: count.reads.add(1, ordering: .relaxed)
      // What nobody waits for.
      case 2, 36, 42: break
      case 18: reply(device, unique, [])
      default: reply(device, unique, [], error: -ENOSYS)
      }
    }
  }

  private static func reply(_ device: Int32, _ unique: UInt64, _ body: [UInt8], error: Int32 = 0) {
    let frame =
      words([UInt32(16 + body.count), UInt32(bitPattern: error)]) + longs([unique]) + body
    _ = write(device, frame, frame.count)
  }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  private static func words(_ all: [UInt32]) -> [UInt8] {
    all.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  private static func longs(_ all: [UInt64]) -> [UInt8] {
    all.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
  }

  /// Whether this process may mount one, determined by trying.
  static let isPossible: Bool = {
    guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
    return (try? HungFile(folder.path + "/file")) != nil
  }()

  /// For `.enabled(if:)`.
  static let skipped = "skipped: only root may mount a file system of FUSE, and not in every container"
}
