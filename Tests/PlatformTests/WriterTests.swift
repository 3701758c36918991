import CPlatform
import Foundation
import Testing

/// Whether anybody may still write to a file.
struct WriterTests {
  @Test func whoeverHoldsAFileToWriteIsNoticed() throws {
    let path = NSTemporaryDirectory() + "sluice-writer-\(UUID())"
    try Data("text\n".utf8).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    let reader = open(path, O_RDONLY)
    try #require(reader >= 0)
    defer { close(reader) }
    #expect(sluice_has_no_writer(reader) == 1)
    let writer = open(path, O_RDWR)
    #expect(sluice_has_no_writer(reader) == 0, "a descriptor")
    let copy = dup(writer)
    close(writer)
    #expect(sluice_has_no_writer(reader) == 0, "a duplicate")
    let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0)
    close(copy)
    #expect(sluice_has_no_writer(reader) == 0, "a mapping")
    munmap(page, 4096)
    #expect(sluice_has_no_writer(reader) == 1)
    // Whoever opens it anew is not kept waiting.
    let other = open(path, O_WRONLY | O_NONBLOCK)
    #expect(other >= 0)
    close(other)
  }
}
