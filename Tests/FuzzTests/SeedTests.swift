import Foundation
import Testing

/// Runs every seed, including inputs that once broke a reader, and short pieces of each, through its target.
struct SeedTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Seeds")

  @Test(arguments: FuzzTarget.all.map(\.name))
  func everySeedKeepsWhatMustHold(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let seeds = try FileManager.default.contentsOfDirectory(
      at: Self.folder.appendingPathComponent(name), includingPropertiesForKeys: nil)
    #expect(!seeds.isEmpty)
    for seed in seeds {
      let bytes = Array(try Data(contentsOf: seed))
      for count in Set([0, 1, bytes.count / 3, bytes.count / 2, bytes.count]) {
        #expect(throws: Never.self, "the first \(count) bytes of \(name)/\(seed.lastPathComponent)") {
          try target.run(Array(bytes.prefix(count)))
        }
      }
    }
  }

  @Test func everyFolderOfSeedsHasItsTarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(folders.sorted() == FuzzTarget.all.map(\.name).sorted())
  }
}
