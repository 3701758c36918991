import CPlatform
import Foundation
import Testing

/// Files whose locks this process must keep are never opened, and so never closed, as sources.
struct KeptLockTests {
  @Test func aFileWithLocksIsRefusedUnderEachOfItsNames() throws {
    let folder = NSTemporaryDirectory() + "sluice-locks-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["ledger", "other"] {
      try Data("text".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    try #require(link("\(folder)/ledger", "\(folder)/second-name") == 0)
    sluice_keep_locks("\(folder)/ledger")
    for name in ["ledger", "second-name"] {
      #expect(sluice_open_source("\(folder)/\(name)") == -1 && errno == EBUSY)
    }
    let other = sluice_open_source("\(folder)/other")
    #expect(other >= 0)
    close(other)
  }

  /// File systems give the inode number of a deleted file to the next one that is made.
  @Test func noOtherFileIsTakenForOneThatIsDeleted() throws {
    let folder = NSTemporaryDirectory() + "sluice-locks-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for number in 0..<20 {
      try Data("text".utf8).write(to: URL(fileURLWithPath: "\(folder)/ledger"))
      sluice_keep_locks("\(folder)/ledger")
      try FileManager.default.removeItem(atPath: "\(folder)/ledger")
      try Data("text".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(number)"))
      let source = sluice_open_source("\(folder)/\(number)")
      #expect(source >= 0, "file \(number): \(String(cString: strerror(errno)))")
      close(source)
    }
  }
}
