// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "greeting",
  products: [.library(name: "sluice-greeting", type: .dynamic, targets: ["GreetingStage"])],
  dependencies: [.package(path: "@SHARE@/StageKit")],
  targets: [
    .target(
      name: "GreetingStage", dependencies: [.product(name: "StageKit", package: "StageKit")], path: "Sources",
      // Export only the symbol that sluice looks for.
      linkerSettings: [
        .unsafeFlags(["-Xlinker", "--version-script=\(Context.packageDirectory)/exports.map"])
      ])
  ]
)
