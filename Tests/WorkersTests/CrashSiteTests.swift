import CPlatform
import Glibc
import Testing

@testable import Workers

/// The status page is hearsay: a worker that content has taken over writes there what it likes.
struct CrashSiteTests {
  private static func site(_ count: UInt64, _ names: [String]) -> CrashSite? {
    let page = UnsafeMutableRawPointer.allocate(byteCount: Int(SLUICE_STATUS_SIZE), alignment: 16)
    defer { page.deallocate() }
    memset(page, 0, Int(SLUICE_STATUS_SIZE))
    let crash = (page + Int(SLUICE_STATUS_CRASH)).assumingMemoryBound(to: sluice_crash.self)
    crash.pointee.count = count
    withUnsafeMutableBytes(of: &crash.pointee.frames) { bytes in
      let frames = bytes.bindMemory(to: sluice_frame.self)
      for (index, name) in names.enumerated() {
        frames[index].offset = UInt64(index) + 0x1000
        withUnsafeMutableBytes(of: &frames[index].module) { room in
          for (place, byte) in name.utf8.prefix(room.count).enumerated() { room[place] = byte }
        }
      }
    }
    return CrashSite(page.assumingMemoryBound(to: sluice_status.self))
  }

  @Test func aPageWithoutFramesHasNoPlace() {
    #expect(Self.site(0, ["libsluice-a.so"]) == nil)
  }

  @Test func theFrameOfThePluginIsToldBeforeThatOfALibrary() throws {
    let site = try #require(Self.site(3, ["libc.so.6", "libsluice-a.so", "sluice-worker"]))
    #expect(site.frame(in: "/plugins/libsluice-a.so").text == "libsluice-a.so+0x1001")
    #expect(site.frame(in: "/plugins/libsluice-b.so").text == "libc.so.6+0x1000")
  }

  @Test func anAbsurdCountIsBounded() throws {
    let site = try #require(Self.site(.max, ["libc.so.6"]))
    #expect(site.frames.count == Int(SLUICE_CRASH_FRAMES))
    #expect(site.frames[1].text == "0x0")
  }

  @Test(arguments: ["a\u{1B}[31mb.so", "line\nbreak", "two words", "漢字"])
  func aNameThatActsOnATerminalIsNotTold(name: String) throws {
    #expect(try #require(Self.site(1, [name])).frames[0].text == "?+0x1000")
  }

  /// One that fills its room has no NUL at its end, and the next frame follows.
  @Test func aNameWithoutAnEndIsCut() throws {
    let long = String(repeating: "a", count: Int(SLUICE_CRASH_NAME))
    let site = try #require(Self.site(1, [long, long]))
    #expect(site.frames[0].module.utf8.count == Int(SLUICE_CRASH_NAME))
  }
}
