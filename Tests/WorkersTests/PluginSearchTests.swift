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

  /// A program is a folder with a `stage.yaml`; a library of its name in the same folder is found before it.
  @Test func aFolderWithAStageFileIsAStage() throws {
    let folder = try Self.folder(["beta-test.so"])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["alpha-test", "beta-test", "empty-test", ".hidden-test"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      if name != "empty-test" {
        try Data("id: \(name)\nversion: 1.0.0\nsummary: It is one.\ncommand: sh\n".utf8)
          .write(to: URL(fileURLWithPath: "\(folder)/\(name)/stage.yaml"))
      }
    }
    let search = try PluginSearch(named: [folder], environment: [:])
    #expect(search.file(of: "alpha-test") == folder + "/alpha-test/stage.yaml")
    #expect(search.file(of: "beta-test") == folder + "/beta-test.so")
    #expect(search.hiddenFiles(of: "beta-test") == [folder + "/beta-test/stage.yaml"])
    #expect(search.file(of: "empty-test") == nil)
    #expect(search.all().map(\.id).filter { $0.hasSuffix("-test") } == ["alpha-test", "beta-test"])
    #expect(PluginSearch.id(ofFile: folder + "/alpha-test/stage.yaml") == "alpha-test")
    let described = search.describe([("alpha-test", folder + "/alpha-test/stage.yaml")])
    #expect(try described["alpha-test"]?.get().program?.command == ["sh"])
  }

  @Test func aProgramWhoseInterpreterIsMissingIsRefused() throws {
    let folder = try Self.folder([])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func problem(_ command: String) throws -> String? {
      let path = folder + "/alpha-test"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data("id: alpha-test\nversion: 1.0.0\nsummary: It is one.\ncommand: \(command)\n".utf8)
        .write(to: URL(fileURLWithPath: path + "/stage.yaml"))
      let result = try PluginSearch(named: [], environment: [:]).describe([
        ("alpha-test", path + "/stage.yaml")
      ])
      if case .failure(let refusal)? = result["alpha-test"] { return refusal.message }
      return nil
    }
    #expect(try problem("python99")?.contains("the program 'python99' is in none of /usr/local/bin") == true)
    #expect(try problem("./none")?.contains("the program './none' cannot be run: No such file") == true)
    #expect(try problem("./stage.yaml")?.contains("cannot be run: Permission denied") == true)
    #expect(try problem("/bin/sh") == nil)
  }

  /// It is a part of the program, so that no plugin can take its place.
  @Test func execIsFoundBeforeAnyPlugin() throws {
    let folder = try Self.folder(["exec.so"])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let search = try PluginSearch(named: [folder], environment: [:])
    #expect(search.file(of: "exec") == "exec")
    #expect(search.all().first?.id == "exec")
    #expect(search.all().count { $0.id == "exec" } == 1)
  }
}
