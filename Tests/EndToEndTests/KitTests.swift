import Foundation
import Testing

/// The kit is what a package of someone else depends on, by version, and it is all that such a package gets.
struct KitTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// From a repository with the files of this one and a tag, with nothing fetched.
  @Test func aPackageDependsOnTheKitByItsVersion() throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/sluice", withIntermediateDirectories: true)
    for name in ["Package.swift", "Plugins", "Sources", "Tests"] {
      try FileManager.default.copyItem(
        atPath: "\(SluiceCommand.projectFolder)/\(name)", toPath: "\(folder.path)/sluice/\(name)")
    }
    for words in [
      ["init", "-q"], ["add", "-A"],
      ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "All"], ["tag", "1.0.0"],
    ] {
      #expect(try run("git", words, below: "sluice").status == 0)
    }
    try folder.write(
      "mine/Package.swift",
      """
      // swift-tools-version: 6.2
      import PackageDescription

      let package = Package(
        name: "greeting",
        products: [.library(name: "sluice-greeting", type: .dynamic, targets: ["GreetingStage"])],
        dependencies: [.package(url: "file://\(folder.path)/sluice", from: "1.0.0")],
        targets: [
          .target(
            name: "GreetingStage", dependencies: [.product(name: "StageKit", package: "sluice")], path: "Sources")
        ]
      )
      """)
    let template = SluiceCommand.projectFolder + "/Templates/swift/content/Greeting.swift"
    try folder.write("mine/Sources/Greeting.swift", String(contentsOfFile: template, encoding: .utf8))
    let built = try run("swift", ["build"], below: "mine")
    #expect(built.status == 0, "\(built.out)\(built.err)")
    #expect(!(built.out + built.err).contains("warning:"), "\(built.out)\(built.err)")
    #expect(try folder.read("mine/Package.resolved").contains(#""version" : "1.0.0""#))
    let inspected = try SluiceCommand.run(
      ["stages", "inspect", "mine/.build/debug/libsluice-greeting.so"], in: folder)
    #expect(inspected.status == 0, "\(inspected.err)")
    #expect(inspected.out.hasPrefix("greeting "), "\(inspected.out)")
  }

  /// SwiftPM has refused a dependency by version on a target with unsafe flags, and does so still for manifests of before 6.2.
  @Test func nothingOfTheKitHasUnsafeFlags() throws {
    let package = try manifest(of: SluiceCommand.projectFolder)
    let kit = try package.closure(of: "StageKit")
    #expect(kit.map(\.name) == ["CStage", "StageKit"])
    for target in kit { #expect(!target.hasUnsafeFlags, "\(target)") }
    let plugin = try package.closure(of: "sluice-size")
    #expect(plugin.contains { $0.hasUnsafeFlags }, "the flags of others are found")
  }

  /// `make install` writes the manifest of the kit from this project's, and puts it beside the kit's sources.
  @Test func theKitThatIsInstalledIsTheSame() throws {
    let installed = try manifest(of: Installation.shared().prefix + "/share/sluice/StageKit")
    let package = try manifest(of: SluiceCommand.projectFolder)
    let kit = try installed.closure(of: "StageKit")
    #expect(try kit == package.closure(of: "StageKit"))
    #expect(kit.map(\.name) == installed.targets.map(\.name).sorted(), "it has nothing else")
  }

  /// What is imported is linked, unless something says otherwise, and each worker would load it all.
  @Test func aWorkerAndItsPluginsNeedOfSwiftNoMoreThanTheyUse() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: SluiceCommand.folder).filter {
      $0 == "sluice-worker" || $0.hasPrefix("libsluice-") && $0.hasSuffix(".so")
    }
    #expect(files.count > 10)
    for file in files {
      let dynamic = try run("readelf", ["-d", "\(SluiceCommand.folder)/\(file)"]).out
      let needed = dynamic.split(separator: "\n").filter { $0.contains("(NEEDED)") }
      #expect(needed.contains { $0.contains("[libswiftCore.so]") }, "\(file): \(dynamic)")
      let more = needed.filter { line in
        ["libswift_", "libdispatch", "libBlocksRuntime", "libFoundation"].contains { line.contains("[\($0)") }
      }
      #expect(more.isEmpty, "\(file)")
    }
  }

  // MARK: Steps

  /// Runs a program as for a user with an empty home: SwiftPM keeps caches there.
  private func run(_ program: String, _ arguments: [String], below: String = "") throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(
      [program] + arguments, in: folder, environment: ["PATH": Installation.path, "HOME": folder.path],
      program: "/usr/bin/env", below: below)
  }

  private func manifest(of package: String) throws -> Manifest {
    let dumped = try run(
      "swift",
      ["package", "--package-path", package, "--scratch-path", folder.path + "/scratch", "dump-package"])
    #expect(dumped.status == 0, "\(dumped.err)")
    return try JSONDecoder().decode(Manifest.self, from: Data(dumped.out.utf8))
  }

  /// A package as `swift package dump-package` shows it.
  private struct Manifest: Decodable {
    struct Product: Decodable {
      var name: String
      var targets: [String]
    }

    struct Target: Decodable, Equatable {
      var name: String
      var dependencies: [Dependency]
      var settings: JSON

      var hasUnsafeFlags: Bool {
        settings.elements.contains { $0["kind"].members.keys.contains("unsafeFlags") }
      }
    }

    /// On a target or a product: an object with one member, a list that begins with its name.
    struct Dependency: Decodable, Equatable {
      var name: String

      init(from decoder: any Decoder) throws {
        name = try #require(try JSON(from: decoder).members.values.first?.elements.first?.text)
      }
    }

    var targets: [Target]
    var products: [Product]

    /// The targets of a product and all that they depend on, by name.
    func closure(of product: String) throws -> [Target] {
      let targets = Dictionary(uniqueKeysWithValues: targets.map { ($0.name, $0) })
      var names = Set(try #require(products.first { $0.name == product }).targets)
      var rest = Array(names)
      while let name = rest.popLast() {
        for dependency in try #require(targets[name]).dependencies
        where names.insert(dependency.name).inserted {
          rest.append(dependency.name)
        }
      }
      return try names.sorted().map { try #require(targets[$0]) }
    }
  }
}
