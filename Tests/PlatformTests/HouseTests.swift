import Foundation
import Testing

/// The folders of `Sources`, as `Package.swift` declares them: a module imports only modules of its own
/// folder or of folders below.
struct HouseTests {
  private static let project = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  private struct Module {
    var name: String
    var folder: String
    var files: [String]
  }

  /// The folders from top to bottom.
  private static func folders() throws -> [String] {
    let package = try String(contentsOfFile: project + "/Package.swift", encoding: .utf8)
    let start = try #require(package.range(of: "let house: KeyValuePairs = [\n"))
    let end = try #require(package.range(of: "\n]\n", range: start.upperBound..<package.endIndex))
    return package[start.upperBound..<end.lowerBound].split(separator: "\n").compactMap { line in
      line.hasPrefix("  \"") ? line.split(separator: "\"").dropFirst().first.map(String.init) : nil
    }
  }

  private static func modules(_ folders: [String]) throws -> [Module] {
    let files = FileManager.default
    return try folders.flatMap { folder -> [Module] in
      let path = "\(project)/Sources/\(folder)"
      let names = try files.contentsOfDirectory(atPath: path)
      // A folder without folders of modules is itself a module.
      let isModule = names.contains { $0.hasSuffix(".swift") }
      return try (isModule ? [folder] : names).map { name in
        let root = isModule ? path : "\(path)/\(name)"
        let found = try files.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }
        return Module(name: name, folder: folder, files: found.map { "\(root)/\($0)" })
      }
    }
  }

  @Test func everyFolderOfTheSourcesHasItsPlace() throws {
    let there = try FileManager.default.contentsOfDirectory(atPath: Self.project + "/Sources")
    #expect(Set(there) == Set(try Self.folders()))
  }

  @Test func whatAModuleImportsLiesBesideItOrBelow() throws {
    let folders = try Self.folders()
    let modules = try Self.modules(folders)
    let rank = Dictionary(uniqueKeysWithValues: folders.enumerated().map { ($0.element, $0.offset) })
    let folder = Dictionary(uniqueKeysWithValues: modules.map { ($0.name, $0.folder) })
    var imports = 0
    for module in modules {
      for file in module.files {
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
          guard line.hasPrefix("import "), let below = folder[String(line.dropFirst(7))] else { continue }
          imports += 1
          let own = try #require(rank[module.folder])
          let other = try #require(rank[below])
          #expect(own <= other, "\(file): \(line), of \(below), which stands above \(module.folder)")
        }
      }
    }
    #expect(imports > 300, "\(imports) imports were looked at")
  }

  /// Decisions are pure: they need no file, process or clock.
  @Test func theDecisionsImportNothingOfTheSystem() throws {
    let modules = try Self.modules(["Decisions"])
    let pipeline = try #require(modules.first { $0.name == "Pipeline" })
    for file in pipeline.files {
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(!text.split(separator: "\n").contains { $0.hasPrefix("import ") }, "\(file)")
    }
  }

  /// What seals is small enough to be read in one sitting: it knows neither the ledger nor the pipeline.
  @Test func sealingImportsThePlatformAndLibcryptoOnly() throws {
    let modules = try Self.modules(try Self.folders())
    let sealing = try #require(modules.first { $0.name == "Sealing" })
    #expect(sealing.folder == "State")
    var imported: Set<String> = []
    for file in sealing.files {
      for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      where line.hasPrefix("import ") { imported.insert(String(line.dropFirst(7))) }
    }
    #expect(imported.isSubset(of: ["CCrypto", "Glibc", "Platform", "Synchronization"]), "\(imported)")
    #expect(imported.contains("CCrypto"))
  }
}
