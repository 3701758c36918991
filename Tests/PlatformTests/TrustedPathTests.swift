import Foundation
import Platform
import Testing

/// Files that decide what is run: nobody but this user and root may be able to change them, or to replace them.
@Suite(.serialized)
struct TrustedPathTests {
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "sluice-trust-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder + "/a/b", withIntermediateDirectories: true)
    for name in ["a/b/file", "file"] {
      try Data("text".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    for name in ["", "/a", "/a/b"] { try mode(0o755, name) }
    for name in ["/a/b/file", "/file"] { try mode(0o644, name) }
  }

  private func mode(_ mode: mode_t, _ name: String) throws { try #require(chmod(folder + name, mode) == 0) }

  private func place(_ name: String) -> String? {
    TrustedPath.problem(with: folder + name)?.place.replacingOccurrences(of: folder, with: "")
  }

  @Test func aFileOfThisUserIsTrusted() {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(place("/a/b/file") == nil && place("/a/./b/../b/file") == nil && place("/a") == nil)
    #expect(place("/none") == nil && place("/a/none/file") == nil)
  }

  @Test(arguments: ["/a/b/file", "/a/b", "/a"]) func aPlaceThatOthersMayWriteIsNamed(name: String) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try mode(name.hasSuffix("file") ? 0o646 : 0o757, name)
    #expect(place("/a/b/file") == name)
    #expect(place("/file") == nil)
  }

  /// Others may make files there, and cannot touch this user's.
  @Test func aFolderWithTheStickyBitIsTrustedForOwnFiles() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try mode(0o1777, "/a")
    #expect(place("/a/b/file") == nil)
    guard geteuid() == 0 else { return }
    try #require(lchown(folder + "/a/b", 4711, 4711) == 0)
    #expect(place("/a/b/file") != nil)
  }

  /// Whoever may write to the folder of a link may point it elsewhere.
  @Test func eachFolderOfALinkOnTheWayCounts() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder + "/links", withIntermediateDirectories: true)
    try mode(0o755, "/links")
    try #require(symlink("../a/b", folder + "/links/relative") == 0)
    try #require(symlink(folder + "/a/b", folder + "/links/absolute") == 0)
    try #require(symlink("circle", folder + "/links/circle") == 0)
    #expect(place("/links/relative/file") == nil && place("/links/absolute/file") == nil)
    #expect(place("/links/circle/file") == nil, "it leads nowhere")
    try mode(0o757, "/links")
    #expect(place("/links/relative/file") == "/links" && place("/links/absolute/file") == "/links")
    try mode(0o755, "/links")
    try mode(0o757, "/a/b")
    #expect(place("/links/relative/file") == "/a/b" && place("/links/absolute/file") == "/a/b")
  }

  @Test(.enabled(if: geteuid() == 0)) func aFileOfAnotherUserIsNoneOfThisUsers() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try #require(chown(folder + "/a/b/file", 4711, 0) == 0)
    let problem = try #require(TrustedPath.problem(with: folder + "/a/b/file"))
    #expect(problem.description.hasSuffix("/a/b/file belongs to user 4711, who could change it"))
    try #require(chown(folder + "/a/b/file", 0, 0) == 0)
    try #require(chown(folder + "/a", 4711, 0) == 0)
    #expect(place("/a/b/file") == "/a")
  }

  @Test(.enabled(if: geteuid() == 0)) func aGroupMayWriteWhereTheOwnerIsItsOnlyMember() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try mode(0o664, "/a/b/file")
    #expect(place("/a/b/file") == nil)
    try #require(chown(folder + "/a/b/file", 0, 4711) == 0)
    #expect(place("/a/b/file") == "/a/b/file")
  }

  @Test func aPathThatIsNamedIsTrustedWithAllBelow() throws {
    defer {
      unsetenv(TrustedPath.variable)
      try? FileManager.default.removeItem(atPath: folder)
    }
    for name in ["/a/b/file", "/a/b", "/a"] {
      unsetenv(TrustedPath.variable)
      try mode(0o757, "/a/b")
      #expect(place("/a/b/file") == "/a/b")
      TrustedPath.trust("/nowhere")
      TrustedPath.trust(folder + name)
      #expect(place("/a/b/file") == nil, "\(name)")
    }
    unsetenv(TrustedPath.variable)
    TrustedPath.trust(folder + "/a/b/fil")
    TrustedPath.trust(folder + "/file")
    #expect(place("/a/b/file") == "/a/b")
  }
}
