import Foundation

/// Stages in C that break the rules, compiled once for all tests.
enum FixtureStages {
  /// The folder with their libraries, for `SLUICE_PLUGIN_PATH`.
  static func folder() throws -> String { try made.get() }

  struct DoesNotCompile: Error {
    var name: String
  }

  private static let made = Result { try make() }

  private static func make() throws -> String {
    let folder = NSTemporaryDirectory() + "sluice-fixtures-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    atexit {
      try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "sluice-fixtures-\(getpid())")
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: sources) where name.hasSuffix(".c") {
      try compile(String(name.dropLast(2)), into: folder)
    }
    try Data("This is a text.\n".utf8).write(to: URL(fileURLWithPath: folder + "/libsluice-not-a-library.so"))
    return folder
  }

  private static let sources = SluiceCommand.projectFolder + "/Tests/Fixtures/Stages"

  /// Compiles one stage, and returns its library.
  @discardableResult
  static func compile(_ stage: String, into folder: String, _ flags: [String] = []) throws -> String {
    let library = "\(folder)/libsluice-\(stage).so"
    let status = try run(
      compiler,
      ["-shared", "-fPIC", "-O1", "-I", SluiceCommand.projectFolder + "/Sources/Contract/CStage/include"]
        + flags
        + ["\(sources)/\(stage).c", "-o", library])
    if status != 0 { throw DoesNotCompile(name: stage) }
    return library
  }

  /// clang comes with the Swift toolchain.
  static let compiler: String = {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let candidates: [String] = path.split(separator: ":").map { "\($0)/clang" }
    return candidates.first(where: FileManager.default.isExecutableFile(atPath:)) ?? "/usr/bin/cc"
  }()

  static func run(_ program: String, _ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
