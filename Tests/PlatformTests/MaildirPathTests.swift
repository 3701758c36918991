import Foundation
import Platform
import Testing

/// Messages of a Maildir, under whatever name they have by now.
struct MaildirPathTests {
  private static func path(_ text: String) -> MaildirPath? { MaildirPath(Array(text.utf8)) }

  @Test(arguments: [
    ("/m/new/17.a.host", "/m", "17.a.host"), ("/m/cur/17.a.host:2,S", "/m", "17.a.host"),
    ("/m/.Sent/cur/17:1,x:2,S", "/m/.Sent", "17"), ("/cur/x", "", "x"),
  ])
  func aPathIsTakenApart(text: String, maildir: String, unique: String) throws {
    let path = try #require(Self.path(text))
    #expect(path.maildir == Array(maildir.utf8) && path.unique == Array(unique.utf8))
  }

  @Test(arguments: [
    "", "x", "/x", "cur/x", "/m/tmp/x", "/m/current/x", "/m/cur/", "/m/cur/:2,S", "/m/cur/.x", "/m/new/x/y",
  ])
  func otherPathsAreNone(text: String) {
    #expect(Self.path(text) == nil)
  }

  private final class Folder {
    let path = NSTemporaryDirectory() + "sluice-test-" + UUID().uuidString

    init() throws {
      for name in ["cur", "new", "tmp"] {
        try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
      }
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }  // the system clears what is left

    func write(_ name: String) throws {
      try Data("x".utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
  }

  @Test func aFolderWithItsThreeFoldersIsAMaildir() throws {
    let folder = try Folder()
    #expect(MaildirPath.isMaildir(Array(folder.path.utf8)))
    #expect(!MaildirPath.isMaildir(Array("\(folder.path)/cur".utf8)))
    let tmp = folder.path + "/tmp"
    try FileManager.default.removeItem(atPath: tmp)
    #expect(!MaildirPath.isMaildir(Array(folder.path.utf8)))
    try FileManager.default.createSymbolicLink(atPath: tmp, withDestinationPath: folder.path + "/cur")
    #expect(!MaildirPath.isMaildir(Array(folder.path.utf8)), "a link is none of them")
  }

  @Test(arguments: ["new/17.a", "cur/17.a", "cur/17.a:2,", "cur/17.a:2,S", "cur/17.a:2,FRS", "new/17.a:2,x"])
  func aMessageIsFoundUnderTheNameThatItHas(name: String) throws {
    let folder = try Folder()
    for other in ["new/17", "new/17.ab", "cur/17.abc:2,S", "cur/16.a:2,S", "tmp/17.a"] {
      try folder.write(other)
    }
    try FileManager.default.createDirectory(
      atPath: folder.path + "/cur/17.a:2,T", withIntermediateDirectories: false)
    for asked in ["new/17.a", "cur/17.a:2,RS"] {
      let message = try #require(Self.path("\(folder.path)/\(asked)"))
      #expect(message.current() == nil)
      try folder.write(name)
      #expect(message.current() == Array("\(folder.path)/\(name)".utf8))
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
    }
  }

  @Test func aFolderThatIsNoMaildirIsNotLookedThrough() throws {
    let folder = try Folder()
    try folder.write("cur/17.a:2,S")
    let message = try #require(Self.path("\(folder.path)/new/17.a"))
    #expect(message.current() != nil)
    try FileManager.default.removeItem(atPath: folder.path + "/tmp")
    #expect(message.current() == nil)
  }
}
