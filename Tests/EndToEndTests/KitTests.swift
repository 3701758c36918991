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
    let package = try Manifest(dump(SluiceCommand.projectFolder))
    let kit = try package.closure(of: "StageKit")
    #expect(kit.map(\.name) == ["CStage", "StageKit"])
    for target in kit { #expect(!target.settings.contains("unsafeFlags"), "\(target)") }
    let plugin = try package.closure(of: "sluice-size")
    #expect(plugin.contains { $0.settings.contains("unsafeFlags") }, "the flags of others are found")
  }

  /// `make install` puts the kit in place with a manifest of its own, beside which there is no more than its sources.
  @Test func theKitThatIsInstalledIsTheSame() throws {
    let installed = try Manifest(dump(SluiceCommand.projectFolder + "/Templates/kit"))
    let package = try Manifest(dump(SluiceCommand.projectFolder))
    #expect(try installed.closure(of: "StageKit") == package.closure(of: "StageKit"))
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

  private func dump(_ package: String) throws -> String {
    let dumped = try run(
      "swift",
      ["package", "--package-path", package, "--scratch-path", folder.path + "/scratch", "dump-package"])
    #expect(dumped.status == 0, "\(dumped.err)")
    return dumped.out
  }

  /// A package as `swift package dump-package` shows it.
  private struct Manifest {
    struct Target: Equatable {
      var name: String
      var dependencies: [String]
      /// As JSON, keys in order.
      var settings: String
    }
    private var targets: [String: Target] = [:]
    private var products: [String: [String]] = [:]

    init(_ json: String) throws {
      let package = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
      for product in try #require(package["products"] as? [[String: Any]]) {
        products[try #require(product["name"] as? String)] = try #require(product["targets"] as? [String])
      }
      for target in try #require(package["targets"] as? [[String: Any]]) {
        let name = try #require(target["name"] as? String)
        let dependencies = try #require(target["dependencies"] as? [[String: Any]])
        let settings = try JSONSerialization.data(
          withJSONObject: try #require(target["settings"]), options: .sortedKeys)
        targets[name] = Target(
          name: name,
          dependencies: try dependencies.map {
            try #require(($0.values.first as? [Any])?.first as? String)
          }, settings: String(decoding: settings, as: UTF8.self))
      }
    }

    /// The targets of a product and all that they depend on, by name.
    func closure(of product: String) throws -> [Target] {
      var names = Set(try #require(products[product]))
      var rest = Array(names)
      while let name = rest.popLast() {
        for dependency in try #require(targets[name]).dependencies where names.insert(dependency).inserted {
          rest.append(dependency)
        }
      }
      return try names.sorted().map { try #require(targets[$0]) }
    }
  }
}
