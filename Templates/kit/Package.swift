// swift-tools-version: 6.2
import PackageDescription

// What a stage in Swift is built against, as `make install` puts it in place.
let package = Package(
  name: "StageKit",
  products: [.library(name: "StageKit", targets: ["StageKit"])],
  targets: [
    .target(name: "CStage"),
    .target(name: "StageKit", dependencies: ["CStage"]),
  ]
)
