// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "sluice",
  products: [.library(name: "StageKit", targets: ["StageKit"])]
    + programs.map { .executable(name: $0, targets: [$0]) }
    + stages.map { .library(name: "sluice-\($0.id)", type: .dynamic, targets: [$0.module]) },
  targets: systemLibraries + contract + core + shared + stages.map(\.target)
    + (part == "tests" ? [] : executables + simulator) + (part == "product" ? [] : bench + tests + fuzzer)
)

/// The part to build, as the Makefile says; `nil`: all. `product` leaves out tests and measurements, `tests` the programs, which
/// tests take from the release build.
nonisolated var part: String? { Context.environment["SLUICE_BUILD"] }

nonisolated var programs: [String] {
  part == "tests" ? [] : ["sluice", "sluice-worker", "sluice-httpd"]
}

/// The folders of Sources, from top to bottom: a module imports from its own folder and those below.
let house: KeyValuePairs = [
  "Tools": [
    "sluice", "sluice-httpd", "sluice-worker", "sluice-samples",
  ],
  "Workbench": [
    "Workbench"
  ],
  "Front": [
    "ClamdServer", "FrontDoor", "FrontWire", "HTTPServer", "Identity",
  ],
  "Engine": [
    "Control", "Manifest", "Objects", "Scheduler", "Wire", "Workers",
  ],
  "State": [
    "HomeFolder", "JSONText", "LedgerPort", "LedgerRules", "LedgerSQLite", "Reporting", "SQLite", "Sealing",
  ],
  "Decisions": [
    "Configuration", "Pipeline",
  ],
  "System": [
    "Bytes", "CPlatform", "CWorker", "Platform",
  ],
  "Libraries": [
    "CArchive", "CCrypto", "CCurl", "CExpat", "CFontconfig", "CGMime", "CHEIF", "CImports", "CLLHTTP",
    "CMagic", "CMagicFilter", "CPDF", "CPNG", "CPoppler", "CPopplerFiles", "CSQLite", "CSeccomp", "CTLS",
    "CTurboJPEG", "CUchardet", "CUnistring", "CVips", "CWebP", "CYAML", "CZlib", "Charsets",
    "Outbound", "PDFDocument", "PDFPictures", "Pictures",
  ],
  "Contract": [
    "CStage", "StageKit",
  ],
]
for (folder, modules) in house {
  for target in package.targets where modules.contains(target.name) {
    target.path = folder == target.name ? "Sources/\(folder)" : "Sources/\(folder)/\(target.name)"
  }
}

// The programs are neither asynchronous nor do they match regular expressions. What is imported is linked, and each process would
// load five libraries more. For the plugins the linker is told, in `Stage`: the kit is in them, and has no unsafe flags.
let linked = core.map(\.name) + ["sluice", "sluice-httpd", "sluice-worker"]
for target in package.targets where linked.contains(target.name) {
  target.swiftSettings = [
    .unsafeFlags([
      "-Xfrontend", "-disable-implicit-concurrency-module-import",
      "-Xfrontend", "-disable-implicit-string-processing-module-import",
    ])
  ]
}

// Information for debuggers takes a fifth of the time in which the tests are built; `SLUICE_DEBUGGER=1` adds it. The kit has no unsafe
// flags.
if !isInstrumented && Context.environment["SLUICE_DEBUGGER"] == nil {
  for target in package.targets where [.regular, .executable, .test].contains(target.type) {
    if contract.contains(where: { $0.name == target.name }) { continue }
    target.swiftSettings =
      (target.swiftSettings ?? []) + [.unsafeFlags(["-gnone"], .when(configuration: .debug))]
  }
}

// A tenth of the processor time goes to calls of Swift's library that a program with the library inside need not look up. A worker
// shares its library with the plugins that it loads. `SLUICE_RUNTIME=shared`: the toolchain has no library to put inside.
if !isInstrumented && Context.environment["SLUICE_RUNTIME"] != "shared" {
  for target in package.targets where ["sluice", "sluice-httpd"].contains(target.name) {
    target.linkerSettings = [.unsafeFlags(["-static-stdlib"])]
  }
}

/// Set by `make fuzz` and `make sanitize`. Sanitizers stand in the place of functions that libraries call as well, so
/// nothing may be hidden from those.
nonisolated var isInstrumented: Bool { Context.environment["SLUICE_INSTRUMENTED"] != nil }

// MARK: C libraries

var systemLibraries: [Target] {
  [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CMagic", pkgConfig: "libmagic", providers: [.apt(["libmagic-dev"])]),
    .systemLibrary(name: "CPoppler", pkgConfig: "poppler-glib", providers: [.apt(["libpoppler-glib-dev"])]),
    .systemLibrary(name: "CUnistring", providers: [.apt(["libunistring-dev"])]),
    .systemLibrary(name: "CUchardet", pkgConfig: "uchardet", providers: [.apt(["libuchardet-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(
      name: "CFontconfig", pkgConfig: "fontconfig", providers: [.apt(["libfontconfig-dev"])]),
    // Not "vips", which asks for -pthread once for each library it is built with: SwiftPM warns of each.
    .systemLibrary(name: "CVips", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),
    .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
    .systemLibrary(name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
    // Not "gmime-3.0", which asks for -pthread; its headers are found by `includes` of the stage.
    .systemLibrary(name: "CGMime", pkgConfig: "gobject-2.0", providers: [.apt(["libgmime-3.0-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
  ]
}

// MARK: The contract: what plugin and host share

/// `make install` writes these lines into the manifest of the kit as well.
var contract: [Target] {
  [
    .target(name: "CStage"),
    .target(name: "StageKit", dependencies: ["CStage"]),
  ]
}

// MARK: The core

var core: [Target] {
  [
    .target(name: "Bytes"),
    .target(name: "CLLHTTP"),
    .target(name: "HTTPServer", dependencies: ["CLLHTTP", "CPlatform", "Platform"]),
    .target(name: "ClamdServer", dependencies: ["CPlatform", "HTTPServer", "Platform"]),
    .target(name: "FrontWire", dependencies: ["Platform", "Wire"]),
    .target(
      name: "FrontDoor",
      dependencies: [
        "CPlatform", "FrontWire", "HomeFolder", "Identity", "JSONText", "LedgerPort", "LedgerSQLite",
        "Manifest", "Objects", "Pipeline", "Platform", "Reporting", "Scheduler", "Sealing", "Wire", "Workers",
      ]),
    .target(name: "Identity", dependencies: ["CCrypto", "JSONText", "Platform"]),
    .target(name: "CPlatform"),
    .target(name: "CWorker", dependencies: ["CPlatform", "CSeccomp"]),
    .target(name: "Pipeline"),
    .target(name: "Wire", dependencies: ["Bytes", "CStage", "Pipeline"]),
    .target(name: "Platform", dependencies: ["Bytes", "CCrypto", "CPlatform"]),
    .target(name: "Configuration", dependencies: ["Pipeline", "Platform", "CYAML"]),
    .target(name: "SQLite", dependencies: ["CSQLite", "CUnistring"]),
    .target(name: "LedgerPort", dependencies: ["Pipeline", "Platform"]),
    .target(name: "LedgerRules", dependencies: ["LedgerPort", "Pipeline", "Platform"]),
    .target(
      name: "LedgerSQLite",
      dependencies: [
        "CPlatform", "HomeFolder", "LedgerPort", "LedgerRules", "Pipeline", "Platform", "SQLite",
      ]),
    .target(name: "HomeFolder", dependencies: ["LedgerPort", "Platform"]),
    .target(name: "Reporting", dependencies: ["HomeFolder", "LedgerPort", "Pipeline", "Platform"]),
    .target(name: "JSONText", dependencies: ["SQLite"]),
    .target(name: "Sealing", dependencies: ["CCrypto", "Platform"]),
    .target(
      name: "Manifest", dependencies: ["Bytes", "Configuration", "JSONText", "LedgerPort", "Platform"]),
    .target(
      name: "Workers",
      dependencies: [
        "Configuration", "Pipeline", "Platform", "Sealing", "Wire", "CPlatform", "CSeccomp", "CStage",
        "CWorker",
      ]),
    .target(
      name: "Workbench",
      dependencies: ["CPlatform", "Configuration", "Pipeline", "Platform", "Wire", "Workers"]),
    .target(
      name: "Objects", dependencies: ["CPlatform", "HomeFolder", "LedgerPort", "Pipeline", "Platform"]),
    .target(
      name: "Scheduler",
      dependencies: [
        "CPlatform", "CWorker", "HomeFolder", "LedgerPort", "Objects", "Pipeline", "Platform", "Sealing",
        "Wire", "Workers",
      ]),
    .target(
      name: "Control",
      dependencies: [
        "CPlatform", "HomeFolder", "LedgerPort", "Pipeline", "Platform", "Scheduler", "Wire", "Workers",
      ]),
  ]
}

// MARK: Executables

var executables: [Target] {
  [
    .executableTarget(
      name: "sluice",
      dependencies: [
        "Configuration", "Control", "CPlatform", "CWorker", "FrontDoor", "HomeFolder", "Identity", "JSONText",
        "LedgerPort", "LedgerRules", "LedgerSQLite", "Manifest", "Objects", "Pipeline", "Platform",
        "Reporting", "Scheduler", "Sealing", "Wire", "Workbench", "Workers",
      ]),
    .executableTarget(
      name: "sluice-worker", dependencies: ["Bytes", "CPlatform", "CStage", "CWorker", "Pipeline", "Wire"]),
    .executableTarget(
      name: "sluice-httpd",
      dependencies: [
        "ClamdServer", "CPlatform", "CWorker", "FrontWire", "HTTPServer", "Platform", "Wire",
      ]),
    .executableTarget(name: "sluice-samples", dependencies: ["CCrypto"]),
  ]
}

/// `make bench` and `make bench-check`.
var bench: [Target] {
  [
    .executableTarget(
      name: "sluice-bench",
      dependencies: [
        "Control", "CPlatform", "CWorker", "HomeFolder", "LedgerPort", "LedgerSQLite", "Objects", "Pipeline",
        "Platform", "Scheduler", "Sealing", "SQLite", "Wire", "Workers",
      ],
      path: "Tests/Benchmarks", exclude: ["baseline.json", "mails.c", "peers", "raw.c"])
  ]
}

// MARK: What several stages link

var shared: [Target] {
  [
    // SwiftPM asks pkg-config for system libraries only, and a module map cannot have headers of C++.
    .target(
      name: "CPDF", dependencies: ["CImports"],
      cxxSettings: [.unsafeFlags(["-isystem", "/usr/include/poppler"])],
      linkerSettings: [.linkedLibrary("poppler")]),
    .target(name: "Charsets", dependencies: ["CUchardet"]),
    .target(name: "PDFDocument", dependencies: ["StageKit", "CExpat", "CPDF"]),
    .target(name: "CHEIF", linkerSettings: ["heif", "de265"].map { .linkedLibrary($0) }),
    .target(name: "CImports"),
    .target(name: "CMagicFilter"),
    .target(
      name: "CPopplerFiles", dependencies: ["CImports"],
      linkerSettings: ["poppler", "poppler-glib", "cairo"].map { .linkedLibrary($0) }),
    .target(
      name: "PDFPictures",
      dependencies: ["StageKit", "CFontconfig", "CPoppler", "CPopplerFiles", "PDFDocument"]),
    .target(name: "Pictures", dependencies: ["StageKit", "CHEIF", "CPNG", "CTurboJPEG", "CVips", "CWebP"]),
    .target(name: "Outbound", dependencies: ["StageKit", "CCurl", "CTLS"]),
  ]
}

// MARK: Stages and channels: a folder each under Plugins/

struct Stage {
  var id: String
  var module: String
  var libraries: [Target.Dependency] = []
  /// A folder with headers of its libraries that pkg-config does not tell.
  var includes: String?
  /// Beside its source there is a `cases.yaml`; what a source fetches is for tests with a server.
  var hasCases = true
  /// Beside its source there is a folder `fixtures`, for its cases.
  var hasFixtures = false

  /// The version script keeps a plugin's one symbol and hides those of the kit inside it. The configuration of clang drops the
  /// libraries that are linked because they are imported everywhere, unless the plugin uses them.
  var target: Target {
    let folder = "\(Context.packageDirectory)/Plugins"
    return .target(
      name: module, dependencies: ["StageKit"] + libraries, path: "Plugins/\(id)",
      exclude: (hasCases ? ["cases.yaml"] : []) + (hasFixtures ? ["fixtures"] : []),
      swiftSettings: includes.map { [.unsafeFlags(["-Xcc", "-I\($0)"])] },
      linkerSettings: isInstrumented
        ? []
        : [
          .unsafeFlags([
            "-Xlinker", "--version-script=\(folder)/exports.map",
            "-Xclang-linker", "--config=\(folder)/as-needed.cfg",
          ])
        ])
  }
}

var stages: [Stage] {
  [
    Stage(id: "digest", module: "DigestStage", libraries: ["CCrypto"]),
    Stage(
      id: "mime", module: "MimeStage",
      libraries: ["CExpat", "CMagic", "CMagicFilter", "CZlib", "Charsets"], hasFixtures: true),
    Stage(id: "size", module: "SizeStage"),
    Stage(id: "pdf", module: "PDFStage", libraries: ["PDFDocument"], hasFixtures: true),
    Stage(id: "scan", module: "ScanStage", libraries: ["CPlatform"]),
    Stage(id: "text", module: "TextStage", libraries: ["Charsets", "PDFDocument"]),
    Stage(id: "image", module: "ImageStage", libraries: ["Pictures"], hasFixtures: true),
    Stage(
      id: "preview", module: "PreviewStage", libraries: ["PDFDocument", "PDFPictures", "Pictures"],
      hasFixtures: true),
    Stage(id: "archive", module: "ArchiveStage", libraries: ["CArchive"]),
    Stage(
      id: "mail", module: "MailStage", libraries: ["Bytes", "CGMime", "Charsets"],
      includes: "/usr/include/gmime-3.0"),
    Stage(id: "store", module: "StoreStage", libraries: ["CPlatform"]),
    Stage(id: "http", module: "HTTPSource", libraries: ["CCurl", "Outbound"], hasCases: false),
    Stage(id: "notify", module: "NotifyStage"),
    Stage(id: "jsonl", module: "JSONLinesChannel"),
    Stage(id: "webhook", module: "WebhookChannel", libraries: ["CCurl", "CCrypto", "Outbound"]),
  ]
}

// MARK: Tests

var tests: [Target] {
  // Two targets cannot share their sources.
  if Context.environment["SLUICE_FUZZ"] != nil { return [] }
  return [
    .testTarget(name: "PipelineTests", dependencies: ["Pipeline", "Platform"]),
    .testTarget(name: "PlatformTests", dependencies: ["Bytes", "CPlatform", "Platform"]),
    .testTarget(name: "ConfigurationTests", dependencies: ["Configuration", "Platform"]),
    .testTarget(name: "SQLiteTests", dependencies: ["SQLite"]),
    .testTarget(name: "SealingTests", dependencies: ["Platform", "Sealing"]),
    .testTarget(
      name: "LedgerTests",
      dependencies: [
        "HomeFolder", "LedgerPort", "LedgerRules", "LedgerSQLite", "Pipeline", "Platform", "SQLite",
      ]),
    // The meaning of the ledger's port, for tests of whatever uses it.
    .target(
      name: "ModelLedger", dependencies: ["LedgerPort", "LedgerRules", "Pipeline", "Platform"],
      path: "Tests/ModelLedger"),
    .testTarget(
      name: "PortTests",
      dependencies: [
        "LedgerPort", "LedgerRules", "LedgerSQLite", "ModelLedger", "Pipeline", "Platform", "SQLite",
      ]),
    .testTarget(name: "ManifestTests", dependencies: ["LedgerPort", "Manifest", "Platform"]),
    .testTarget(
      name: "WorkersTests",
      dependencies: ["Configuration", "CPlatform", "Pipeline", "Platform", "Wire", "Workers"]),
    .testTarget(
      name: "SchedulerTests",
      dependencies: [
        "Control", "CPlatform", "LedgerPort", "LedgerSQLite", "Objects", "Pipeline", "Platform", "Scheduler",
        "SQLite", "Wire", "Workers",
      ]),
    .testTarget(
      name: "ObjectsTests",
      dependencies: ["HomeFolder", "LedgerPort", "LedgerSQLite", "Objects", "Pipeline", "Platform", "SQLite"]),
    .testTarget(name: "WireTests", dependencies: ["Pipeline", "Wire"]),
    .testTarget(
      name: "HTTPTests",
      dependencies: [
        "CPlatform", "HTTPSource", "Outbound", "Pipeline", "Platform", "StageKit", "Wire", "Workers",
      ]),
    .testTarget(
      name: "FrontDoorTests",
      dependencies: [
        "CCrypto", "FrontDoor", "FrontWire", "HomeFolder", "Identity", "JSONText", "LedgerPort",
        "LedgerSQLite",
        "Pipeline", "Platform", "Scheduler", "Wire",
      ]),
    .testTarget(name: "HTTPServerTests", dependencies: ["CPlatform", "HTTPServer", "Platform"]),
    .testTarget(
      name: "ClamdServerTests", dependencies: ["CPlatform", "ClamdServer", "HTTPServer", "Platform"]),
    .testTarget(name: "MagicTests", dependencies: ["CMagic", "CMagicFilter"]),
    .testTarget(name: "CharsetTests", dependencies: ["Charsets"]),
    .testTarget(name: "PDFTests", dependencies: ["PDFDocument"]),
    .testTarget(
      name: "FuzzTests", dependencies: fuzzed, exclude: ["CFuzzer", "Fuzzer", "Seeds", "fuzz.sh"]),
    // Judges what `sluice` leaves behind, and shares nothing with it but the binding of SQLite.
    .executableTarget(name: "sluice-witness", dependencies: ["CCrypto", "SQLite"], path: "Tests/Witness"),
    .testTarget(name: "BenchmarksTests", dependencies: ["Platform", "sluice-bench"]),
    .testTarget(
      name: "EndToEndTests", dependencies: ["CCrypto", "CTLS", "FrontWire", "Platform", "SQLite", "Wire"],
      exclude: ["Golden"]),
  ]
}

/// Takes the scheduler through crashes, power losses and bad weather in virtual time.
var simulator: [Target] {
  if part == "product" || Context.environment["SLUICE_FUZZ"] != nil { return [] }
  return [
    .target(name: "MemoryDisk", dependencies: ["CSQLite"], path: "Tests/Simulator/MemoryDisk"),
    .executableTarget(
      name: "sluice-simulator",
      dependencies: [
        "CPlatform", "CSQLite", "CWorker", "LedgerPort", "LedgerSQLite", "MemoryDisk", "ModelLedger",
        "Objects", "Pipeline", "Platform", "Scheduler", "SQLite", "Wire", "Workers",
      ],
      path: "Tests/Simulator", exclude: ["MemoryDisk", "kept.txt"]),
  ]
}

/// What `FuzzTests` hands hostile input to.
var fuzzed: [Target.Dependency] {
  [
    "CPlatform", "ClamdServer", "Configuration", "FrontDoor", "FrontWire", "HTTPServer", "Identity",
    "Manifest", "Pipeline",
    "Platform",
    "StageKit", "Wire", "Workers", "ArchiveStage", "HTTPSource", "JSONLinesChannel", "MailStage", "MimeStage",
    "Outbound", "PDFDocument", "Pictures", "ScanStage", "TextStage",
    "WebhookChannel",
  ]
}

/// The same as a program for libFuzzer. Set by `make fuzz` only: nothing else links libFuzzer.
var fuzzer: [Target] {
  if Context.environment["SLUICE_FUZZ"] == nil { return [] }
  return [
    .systemLibrary(name: "CFuzzer", path: "Tests/FuzzTests/CFuzzer"),
    .executableTarget(
      name: "sluice-fuzz", dependencies: fuzzed + ["CFuzzer"], path: "Tests/FuzzTests",
      exclude: ["CFuzzer", "SeedMutationTests.swift", "Seeds", "SeedTests.swift", "fuzz.sh"]),
  ]
}
