import Glibc
import Testing
import Workers

struct PluginFileTests {
  private static func little(_ value: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }

  /// An ELF file with these sections; the section names are in the last one.
  private static func file(_ sections: [(name: String, content: [UInt8], link: UInt64)]) -> [UInt8] {
    var names: [UInt8] = [0]
    var body: [UInt8] = []
    var table: [UInt8] = []
    for index in 0...sections.count {
      let at = UInt64(names.count)
      let (name, content, link) = index < sections.count ? sections[index] : (".shstrtab", [], 0)
      names += Array(name.utf8) + [0]
      let bytes = index < sections.count ? content : names
      table += little(at, 4) + little(1, 4) + little(0, 16) + little(UInt64(64 + body.count), 8)
      table += little(UInt64(bytes.count), 8) + little(link, 4) + little(0, 20)
      body += bytes
    }
    let count = UInt64(sections.count + 1)
    let head: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + little(0, 33)
    return head + little(UInt64(64 + body.count), 8) + little(0, 10) + little(64, 2) + little(count, 2)
      + little(count - 1, 2) + body + table
  }

  private static func read(_ bytes: [UInt8]) -> PluginFile? {
    var template = Array("/tmp/sluice-plugin-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    defer { close(file) }
    defer { unlink(template) }
    guard pwrite(file, bytes, bytes.count, 0) == bytes.count else { return nil }
    return PluginFile(String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  @Test func compilersAndLibrariesAreTold() throws {
    let file = try #require(
      Self.read(
        Self.file([
          (".comment", Array("GCC 12\0Swift 6.3\0GCC 12\0".utf8), 0),
          (".dynstr", Array("\0libc.so.6\0".utf8), 0),
          (".dynamic", Self.little(1, 8) + Self.little(1, 8), 1),
        ])))
    #expect(file.compilers == ["GCC 12", "Swift 6.3"] && file.libraries == ["libc.so.6"])
  }

  /// Each entry may name a whole section: a file of two MB could fill 64 GB.
  @Test(.timeLimit(.minutes(5)))
  func noFileIsToldOfMoreThanItsBounds() throws {
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
    let entries = (0..<65_536).flatMap { _ in Self.little(1, 8) + Self.little(0, 8) }
    let sections = [(".comment", long, UInt64(0)), (".dynstr", long, 0), (".dynamic", entries, 1)]
    let file = try #require(Self.read(Self.file(sections)))
    #expect(file.libraries.count <= 256 && file.libraries.allSatisfy { $0.utf8.count <= 4096 })
    #expect(file.compilers.allSatisfy { $0.utf8.count <= 4096 })
  }
}
