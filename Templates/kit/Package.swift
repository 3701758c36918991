// swift-tools-version: 6.2
import PackageDescription

// The package that a stage in Swift is built against, as installed by `make install`.
let package = Package(
  name: "StageKit",
  products: [.library(name: "StageKit", targets: ["StageKit"])],
  targets: [
    .target(name: "CStage"),
    .target(name: "StageKit", dependencies: ["CStage"]),
  ]
)
