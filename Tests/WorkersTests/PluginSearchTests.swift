import Foundation
import Testing
import Workers

struct PluginSearchTests {
  private static func folder(_ names: [String]) throws -> String {
    let path = NSTemporaryDirectory() + "sluice-plugins-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for name in names { try Data().write(to: URL(fileURLWithPath: path + "/" + name)) }
    return path
  }

  @Test func theFirstFolderThatHasAStageCounts() throws {
    let first = try Self.folder(["libsluice-alpha-test.so"])
    let second = try Self.folder(["alpha-test.so", "beta-test.so", "notes.txt"])
    defer { for path in [first, second] { try? FileManager.default.removeItem(atPath: path) } }
    let search = try PluginSearch(named: [second], environment: ["SLUICE_PLUGIN_PATH": first])
    #expect(search.file(of: "alpha-test") == first + "/libsluice-alpha-test.so")
    #expect(search.file(of: "beta-test") == second + "/beta-test.so")
    #expect(search.file(of: "gamma-test") == nil)
    let found = search.all().filter { $0.id.hasSuffix("-test") }
    #expect(found.map(\.id) == ["alpha-test", "beta-test"])
    #expect(found.map(\.file) == [first + "/libsluice-alpha-test.so", second + "/beta-test.so"])
  }
}
