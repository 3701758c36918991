import Glibc
import Platform
import Testing

/// Other tests open files at the same time, so a descriptor's number alone proves nothing: compare the file
/// it refers to.
private struct File: Equatable {
  var device: UInt
  var inode: UInt

  init?(_ descriptor: Int32) {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return nil }
    (device, inode) = (UInt(facts.st_dev), UInt(facts.st_ino))
  }
}

struct DescriptorTests {
  /// A macro that Swift does not import.
  private static let O_TMPFILE: Int32 = 0o20000000 | O_DIRECTORY

  /// A file without a name, which no other test can open.
  private static func unnamed() throws -> (Int32, File) {
    let number = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0o600)
    return (number, try #require(File(number)))
  }

  @Test func aDescriptorIsClosedWhenItsOwnerLetsGo() throws {
    let (number, file) = try Self.unnamed()
    do {
      let descriptor = Descriptor(owning: number)
      #expect(File(descriptor.number) == file)
    }
    #expect(File(number) != file)
  }

  @Test func aDescriptorGivenAwayStaysOpen() throws {
    let (number, file) = try Self.unnamed()
    let released = Descriptor(owning: number).release()
    #expect(released == number && File(number) == file)
    close(number)
  }

  @Test func whatIsOpenedIsClosedOnExec() throws {
    let descriptor = try Descriptor.open("/dev/null", O_RDONLY)
    let number = descriptor.number
    #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test func allIsWrittenToANonblockingPipeWhoseReaderIsSlow() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (from, to) = (ends[0], ends[1])
    try #require(fcntl(to, F_SETFL, O_NONBLOCK) == 0)
    let bytes = (0..<1_000_000).map { UInt8($0 % 251) }
    let writer = try Thread {
      let (count, error) = bytes.withUnsafeBytes { Descriptor.writeAll($0, to: to) }
      #expect(count == bytes.count && error == 0)
      close(to)
    }
    var received: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 100_000)
    while case let count = read(from, &part, part.count), count > 0 {
      received += part.prefix(count)
      usleep(1000)
    }
    writer.join()
    close(from)
    #expect(received == bytes)
  }

  @Test func aFileThatIsNotThereIsNamedWithItsReason() {
    do {
      _ = try Descriptor.open("/nowhere/at/all", O_RDONLY)
      Issue.record("it opened")
    } catch {
      #expect(error.code == ENOENT)
      #expect(error.description == "opening /nowhere/at/all: No such file or directory")
    }
  }
}
