import Foundation
import Platform
import Testing

/// Whether a file is still the one that it was.
struct FileStampTests {
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "sluice-stamp-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func write(_ name: String, _ text: String) throws -> String {
    let path = folder + "/" + name
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// Writes over what is there, and gives the file the date that it had.
  private func overwriteInPlace(_ path: String, _ text: String) throws {
    var facts = stat()
    try #require(stat(path, &facts) == 0)
    usleep(20_000)  // the kernel's tick, and more
    let file = try #require(fopen(path, "r+"))
    fputs(text, file)
    fclose(file)
    try #require(utimensat(AT_FDCWD, path, [facts.st_atim, facts.st_mtim], 0) == 0)
  }

  @Test func itIsTheSameAsLongAsNothingHappens() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = try write("a", "one")
    #expect(FileStamp(of: path) == FileStamp(of: path))
    let link = folder + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    #expect(FileStamp(of: link) == FileStamp(of: path))
    #expect(FileStamp(of: folder) == nil && FileStamp(of: folder + "/none") == nil)
  }

  @Test func aChangeInPlaceShowsThoughSizeAndDateAreAsBefore() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = try write("a", "one")
    let before = try #require(FileStamp(of: path))
    try overwriteInPlace(path, "two")
    let after = try #require(FileStamp(of: path))
    #expect(before.size == after.size && before.modified == after.modified && before.inode == after.inode)
    #expect(before != after)
  }

  @Test func eachPartCounts() {
    let stamp = FileStamp(device: 1, inode: 2, size: 3, modified: 4, changed: 5)
    for place in 0..<5 {
      var other = stamp
      switch place {
      case 0: other.device += 1
      case 1: other.inode += 1
      case 2: other.size += 1
      case 3: other.modified += 1
      default: other.changed += 1
      }
      #expect(other != stamp)
    }
  }

  @Test func oneThatWasChangedJustNowMayChangeUnseen() {
    let second: Int64 = 1_000_000_000
    func isSettled(modified: Int64, changed: Int64) -> Bool {
      FileStamp(device: 1, inode: 1, size: 1, modified: modified * second, changed: changed * second)
        .isSettled(at: 100_000)
    }
    #expect(isSettled(modified: 90, changed: 97))
    #expect(!isSettled(modified: 90, changed: 98) && !isSettled(modified: 99, changed: 90))
    #expect(!isSettled(modified: 90, changed: 200), "a clock that was set back")
  }
}
